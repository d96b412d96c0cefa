import {
  ClusterWorkflowEngine,
  type MessageStorage,
  RunnerAddress,
  type Sharding,
  ShardingConfig,
  SingleRunner,
  SqlMessageStorage,
  SqlRunnerStorage
} from "@effect/cluster"
import { NodeClusterSocket } from "@effect/platform-node"
import type { SocketServerError } from "@effect/platform/SocketServer"
import type { SqlClient } from "@effect/sql"
import type { WorkflowEngine } from "@effect/workflow"
import { Config, type ConfigError, Context, Duration, Effect, Layer, Option } from "effect"
import { createServer } from "node:net"
import { hostname } from "node:os"
import { withMigrationLock } from "../postgres/migrate.ts"

/** How quickly nodes notice each other: the defaults of the library suit large fleets, these a handful of nodes. */
const timings = {
  entityMessagePollInterval: Duration.seconds(1),
  refreshAssignmentsInterval: Duration.seconds(1),
  runnerHealthCheckInterval: Duration.seconds(2),
  shardLockRefreshInterval: Duration.seconds(2),
  shardLockExpiration: Duration.seconds(8),
  entityTerminationTimeout: Duration.seconds(5)
}

/** By which name the other nodes know this one. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
  /** Whether it is one of several nodes, that reach it at this address. */
  readonly clustered: boolean
}

/** This node among those on the same Postgres. */
export class ClusterNode extends Context.Tag("cluster/ClusterNode")<ClusterNode, NodeAddress>() {}

const freePort = (host: string) =>
  Effect.async<number>((resume) => {
    const server = createServer()
    server.once("error", (error) => resume(Effect.die(error)))
    server.listen(0, host, () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resume(Effect.succeed(port)))
    })
  })

const port = (name: string) => Config.option(Config.port(name))

const settings = Config.all({
  clustered: Config.boolean("NETOPS_CLUSTER").pipe(Config.withDefault(false)),
  host: Config.nonEmptyString("NETOPS_CLUSTER_HOST").pipe(Config.withDefault("127.0.0.1")),
  clusterPort: port("NETOPS_CLUSTER_PORT"),
  httpPort: Config.integer("PORT").pipe(Config.withDefault(0))
})

/**
 * With `NETOPS_CLUSTER` the address `NETOPS_CLUSTER_HOST` (127.0.0.1) and `NETOPS_CLUSTER_PORT` (a free one), else a
 * name that the node has again after a restart and no other node of the host has.
 */
export const ClusterNodeLive = Layer.effect(
  ClusterNode,
  Effect.gen(function*() {
    const { clusterPort, clustered, host, httpPort } = yield* settings
    if (!clustered) return { clustered, host: hostname(), port: httpPort === 0 ? process.pid : httpPort }
    return { clustered, host, port: Option.getOrElse(clusterPort, () => 0) || (yield* freePort(host)) }
  })
)

const shardingConfig = ({ clustered, host, port }: NodeAddress): Partial<ShardingConfig.ShardingConfig["Type"]> => ({
  ...timings,
  runnerAddress: Option.some(RunnerAddress.make(host, port)),
  runnerListenAddress: Option.none(),
  // A session's lock is free as soon as its process is gone, but a frozen node would hold it for ever.
  shardLockDisableAdvisory: clustered
})

/** The cluster's own tables, made by one node at a time: the library makes them where it first needs them. */
const tables = (node: NodeAddress) =>
  Layer.effectDiscard(
    withMigrationLock(
      Effect.scoped(
        Layer.build(Layer.merge(SqlMessageStorage.layer, SqlRunnerStorage.layer)).pipe(
          Effect.provide(ShardingConfig.layer(shardingConfig(node)))
        )
      )
    ).pipe(Effect.orDie)
  )

const sharding = (node: NodeAddress) =>
  node.clustered
    ? NodeClusterSocket.layer({ storage: "sql", shardingConfig: shardingConfig(node) })
    : SingleRunner.layer({ runnerStorage: "sql", shardingConfig: shardingConfig(node) })

/**
 * Durable workflows and singletons on the database of the service: by this node alone, or with `NETOPS_CLUSTER=1`
 * shared by all nodes on that database. Work of a node that is gone is taken over within 11 seconds. It holds one
 * connection of the pool, so that a pool has at least three.
 */
export const ClusterLive: Layer.Layer<
  Sharding.Sharding | MessageStorage.MessageStorage | WorkflowEngine.WorkflowEngine,
  ConfigError.ConfigError | SocketServerError,
  SqlClient.SqlClient | ClusterNode
> = Layer.unwrapEffect(
  Effect.map(ClusterNode, (node) =>
    ClusterWorkflowEngine.layer.pipe(
      Layer.provideMerge(sharding(node)),
      Layer.provide(tables(node))
    ))
)
