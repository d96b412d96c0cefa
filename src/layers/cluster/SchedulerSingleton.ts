import { Config, Duration, Effect, Layer } from "effect"
import { schedule } from "../../services/Scheduler.ts"
import { ClusterNode } from "./Cluster.ts"
import { singleton } from "./singleton.ts"

const duration = (name: string, fallback: Duration.Duration) => Config.duration(name).pipe(Config.withDefault(fallback))

const settings = Config.all({
  evaluation: duration("NETOPS_RULE_TIMEOUT", Duration.seconds(30)),
  concurrency: Config.integer("NETOPS_SCHEDULE_CONCURRENCY").pipe(
    Config.withDefault(4),
    Config.validate({ message: "NETOPS_SCHEDULE_CONCURRENCY must be at least 1", validation: (runs) => runs >= 1 })
  ),
  jitter: duration("NETOPS_SCHEDULE_JITTER", Duration.zero),
  grace: duration("NETOPS_SCHEDULE_GRACE", Duration.minutes(1))
})

/** What a run needs beside the two queries of its evaluation, which have the limit of their own. */
const overhead = Duration.seconds(5)

/**
 * Runs the schedules on one of all nodes: `NETOPS_SCHEDULE_CONCURRENCY` rules at a time (4), each begun up to
 * `NETOPS_SCHEDULE_JITTER` late by chance (0), given up after twice `NETOPS_RULE_TIMEOUT` and 5 seconds. Windows found
 * later than `NETOPS_SCHEDULE_GRACE` (one minute) are missed.
 */
export const SchedulerSingleton = Layer.unwrapEffect(
  Effect.gen(function*() {
    const { host, port } = yield* ClusterNode
    const { evaluation, ...rest } = yield* settings
    const timeout = Duration.sum(Duration.times(evaluation, 2), overhead)
    const node = `${host}:${port}`
    return singleton("scheduler", schedule({ node, timeout, poll: Duration.millis(500), ...rest }))
  })
)
