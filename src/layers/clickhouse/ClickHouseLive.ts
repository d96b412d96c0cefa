import { Config, type ConfigError, Effect, Layer, Option, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { DataDir, DataDirLive, type DataDirUnusable } from "../DataDir.ts"
import { EngineUnavailable } from "../EngineUnavailable.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { clickHouseClient } from "./ClickHouseClient.ts"
import type { ClickHouseError } from "./ClickHouseError.ts"
import { embeddedClickHouse } from "./EmbeddedClickHouse.ts"

const plainName = (name: string) =>
  Config.nonEmptyString(name).pipe(
    Config.validate({
      message: `${name} must be a plain name`,
      validation: (value) => /^[A-Za-z_]\w{0,62}$/.test(value)
    }),
    Config.option
  )

const databaseName = plainName("NETOPS_CLICKHOUSE_DATABASE")
const clusterName = plainName("NETOPS_CLICKHOUSE_CLUSTER")
const authority = Config.option(Config.nonEmptyString("NETOPS_CLICKHOUSE_CA"))

const urlIn = (name: string) =>
  Config.option(Config.redacted(name)).pipe(
    Config.map(Option.filter((url) => Redacted.value(url).trim() !== ""))
  )

const unavailable = (message: string, cause?: unknown) =>
  new EngineUnavailable({ engine: "clickhouse", message, ...(cause === undefined ? {} : { cause }) })

const parseUrl = (name: string, url: Redacted.Redacted) =>
  Effect.try({
    try: () => {
      const parsed = new URL(Redacted.value(url))
      if (!/^https?:$/.test(parsed.protocol)) throw new Error("not an HTTP URL")
      const path = parsed.pathname.slice(1)
      parsed.pathname = ""
      return { path, server: Redacted.make(parsed.href), origin: parsed.origin }
    },
    catch: () => unavailable(`${name}: expected http(s)://user:password@host:8123`)
  })

const refusals = new Set(["193", "194", "516"])
const readonlyModified = "164"

const failure = (name: string, origin: string) => (error: ClickHouseError) =>
  unavailable(
    `${name}: ClickHouse at ${origin} ${
      refusals.has(error.code)
        ? "refused the login"
        : error.code === readonlyModified
        ? "forbids this user to set readonly, which each read does beside its limits: unset it in the user's profile"
        : `can't be reached (${error.code || error.message})`
    }`,
    error
  )

const external = Effect.fnUntraced(function*(configured: Redacted.Redacted) {
  const { origin, path, server } = yield* parseUrl("CLICKHOUSE_URL", configured)
  const database = Option.getOrElse(yield* databaseName, () => path || "netops")
  const cluster = Option.getOrUndefined(yield* clusterName)
  const readUrl = Option.getOrUndefined(yield* urlIn("NETOPS_CLICKHOUSE_READ_URL"))
  const reading = readUrl === undefined ? undefined : yield* parseUrl("NETOPS_CLICKHOUSE_READ_URL", readUrl)
  const ca = yield* Effect.transposeOption(
    Option.map(yield* authority, (path) =>
      Effect.tryPromise({
        try: () => readFile(path),
        catch: (cause) => unavailable(`NETOPS_CLICKHOUSE_CA: ${path} can't be read`, cause)
      }))
  )
  const options = {
    ...(cluster === undefined ? {} : { cluster }),
    ...(Option.isNone(ca) ? {} : { ca: ca.value })
  }
  const writer = yield* clickHouseClient(server, database, options)
  yield* writer.ping.pipe(Effect.mapError(failure("CLICKHOUSE_URL", origin)))
  if (reading === undefined) {
    yield* Effect.logInfo(`clickhouse: external at ${origin}, database ${database}`)
    return writer
  }
  const reader = yield* clickHouseClient(reading.server, "default", options)
  yield* reader.query({ query: "SELECT 1" }).pipe(
    Effect.mapError(failure("NETOPS_CLICKHOUSE_READ_URL", reading.origin))
  )
  yield* Effect.logInfo(`clickhouse: external at ${origin}, database ${database}, read by a user of its own`)
  return yield* clickHouseClient(server, database, { ...options, readUrl: reading.server })
})

const embedded = Effect.gen(function*() {
  const dataDir = yield* DataDir
  const server = yield* embeddedClickHouse(dataDir.path)
  const database = Option.getOrElse(yield* databaseName, () => "netops")
  yield* Effect.logInfo(`clickhouse: embedded ${server.version} in ${server.directory} on port ${server.port}`)
  return yield* clickHouseClient(server.url, database, { readUrl: server.readUrl })
}).pipe(Effect.provide(DataDirLive))

/**
 * ClickHouse at `CLICKHOUSE_URL`, or an embedded engine in the data directory. The database is
 * `NETOPS_CLICKHOUSE_DATABASE`, else the path of the URL, else `netops`. `NETOPS_CLICKHOUSE_READ_URL` is the login for
 * everything that only reads, `NETOPS_CLICKHOUSE_CLUSTER` the cluster whose servers all hold the tables, and
 * `NETOPS_CLICKHOUSE_CA` a file with the authority behind the server's certificate.
 */
export const ClickHouseLive: Layer.Layer<
  ClickHouse,
  ConfigError.ConfigError | DataDirUnusable | EngineUnavailable
> = Layer.scoped(
  ClickHouse,
  Effect.flatMap(urlIn("CLICKHOUSE_URL"), Option.match({ onNone: () => embedded, onSome: external }))
)
