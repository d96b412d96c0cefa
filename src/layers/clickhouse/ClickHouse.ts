import { type ClickHouseClient, type ClickHouseSettings, createClient, type ResponseJSON } from "@clickhouse/client"
import { Chunk, Config, type ConfigError, Context, Duration, Effect, Layer, Option, Redacted, Stream } from "effect"
import { Readable } from "node:stream"
import { DataDir, DataDirLive, type DataDirUnusable } from "../DataDir.ts"
import { EngineUnavailable } from "../EngineUnavailable.ts"
import { ClickHouseError, clickHouseError } from "./ClickHouseError.ts"
import { embeddedClickHouse } from "./EmbeddedClickHouse.ts"

/** A statement with `{name:Type}` placeholders; values reach ClickHouse as parameters, never as text of the query. */
export interface Statement {
  readonly query: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly settings?: ClickHouseSettings
  /** How long ClickHouse may work on it: 30 seconds unless given. */
  readonly timeout?: Duration.DurationInput
}

/** All rows of an answer, with what ClickHouse says of it; integers of any width are numbers. */
export interface Rows {
  readonly rows: ReadonlyArray<unknown>
  readonly elapsedMs: number
  /** Rows there would be without LIMIT: exact only with the setting `exact_rows_before_limit`. */
  readonly rowsBeforeLimit: number
  readonly rowsRead: number
}

/**
 * Rows for one insert, which ClickHouse takes as a whole or not at all up to a million: as objects, or as lines of its
 * TabSeparated format with the columns that they hold.
 */
export interface Insert {
  readonly table: string
  readonly rows: ReadonlyArray<object> | {
    readonly columns: readonly [string, ...Array<string>]
    readonly lines: string
  }
  /** An insert with a token seen lately is done and adds nothing: this makes repeating one safe. */
  readonly deduplicationToken?: string
  readonly settings?: ClickHouseSettings
  readonly timeout?: Duration.DurationInput
}

/** The one ClickHouse client of the process; unqualified table names mean tables of `database`. */
export class ClickHouse extends Context.Tag("clickhouse/ClickHouse")<ClickHouse, {
  readonly database: string
  /** Reads with `readonly=1`: the statement can't change data, settings or reach outside. */
  readonly query: (statement: Statement) => Effect.Effect<Rows, ClickHouseError>
  /** Reads like `query`, row by row as they come. */
  readonly stream: (statement: Statement) => Stream.Stream<unknown, ClickHouseError>
  readonly insert: (insert: Insert) => Effect.Effect<void, ClickHouseError>
  /** Runs a statement that answers nothing, such as DDL. */
  readonly command: (statement: Statement) => Effect.Effect<void, ClickHouseError>
  /** Whether ClickHouse answers this login, within 2 seconds. */
  readonly ping: Effect.Effect<void, ClickHouseError>
  /** Creates `database` unless it exists. */
  readonly createDatabase: Effect.Effect<void, ClickHouseError>
}>() {}

const defaultTimeout = Duration.seconds(30)
// ClickHouse ends the query itself; this is for one that doesn't answer any more.
const grace = Duration.seconds(3)
const pingTimeout = Duration.seconds(2)

const limits = (timeout: Duration.DurationInput = defaultTimeout): ClickHouseSettings => ({
  max_execution_time: Duration.toSeconds(timeout),
  timeout_before_checking_execution_speed: 0
})

const reading: ClickHouseSettings = {
  readonly: "1",
  output_format_json_quote_64bit_integers: 0,
  cancel_http_readonly_queries_on_client_close: 1
}

const request = <A>(
  timeout: Duration.DurationInput | undefined,
  run: (signal: AbortSignal) => Promise<A>
): Effect.Effect<A, ClickHouseError> =>
  Effect.tryPromise({ try: run, catch: clickHouseError }).pipe(
    Effect.timeoutFail({
      duration: Duration.sum(timeout ?? defaultTimeout, grace),
      onTimeout: () => new ClickHouseError({ reason: "timeout", code: "", message: "ClickHouse doesn't answer" })
    })
  )

const makeQuery = (client: ClickHouseClient) => (statement: Statement) =>
  request(statement.timeout, async (signal): Promise<Rows> => {
    const answer = await client.query({
      query: statement.query,
      format: "JSON",
      query_params: { ...statement.params },
      clickhouse_settings: { ...limits(statement.timeout), ...statement.settings, ...reading, wait_end_of_query: 1 },
      use_multipart_params_auto: true,
      abort_signal: signal
    })
    const { data, rows, rows_before_limit_at_least, statistics }: ResponseJSON<unknown> = await answer.json()
    return {
      rows: data,
      elapsedMs: (statistics?.elapsed ?? 0) * 1000,
      rowsBeforeLimit: rows_before_limit_at_least ?? rows ?? data.length,
      rowsRead: statistics?.rows_read ?? 0
    }
  }).pipe(Effect.withSpan("ClickHouse.query", { attributes: { "db.system.name": "clickhouse" } }))

const makeStream = (client: ClickHouseClient) => (statement: Statement): Stream.Stream<unknown, ClickHouseError> =>
  Stream.unwrapScoped(
    Effect.gen(function*() {
      const controller = yield* Effect.acquireRelease(
        Effect.sync(() => new AbortController()),
        (controller) => Effect.sync(() => controller.abort())
      )
      const answer = yield* request(statement.timeout, () =>
        client.query({
          query: statement.query,
          format: "JSONEachRow",
          query_params: { ...statement.params },
          clickhouse_settings: { ...limits(statement.timeout), ...statement.settings, ...reading },
          use_multipart_params_auto: true,
          abort_signal: controller.signal
        }))
      const batches = answer.stream<unknown>()
      return Stream.fromAsyncIterable(batches, clickHouseError).pipe(
        Stream.mapConcatChunk((batch) => Chunk.map(Chunk.unsafeFromArray(batch), (row) => row.json()))
      )
    })
  )

const contentOf = (rows: Insert["rows"]) =>
  "lines" in rows
    ? {
      format: "TabSeparated" as const,
      columns: [...rows.columns] as [string, ...Array<string>],
      values: Readable.from([Buffer.from(rows.lines)], { objectMode: false })
    }
    : { format: "JSONEachRow" as const, values: rows }

const makeInsert = (client: ClickHouseClient) => (insert: Insert) =>
  request(insert.timeout, (signal) =>
    client.insert({
      table: insert.table,
      ...contentOf(insert.rows),
      clickhouse_settings: {
        ...limits(insert.timeout),
        ...insert.settings,
        ...(insert.deduplicationToken === undefined ? {} : {
          insert_deduplication_token: insert.deduplicationToken,
          // Without it the token doesn't reach the tables that materialized views write to.
          deduplicate_blocks_in_dependent_materialized_views: 1
        })
      },
      abort_signal: signal
    })).pipe(
      Effect.asVoid,
      Effect.withSpan("ClickHouse.insert", { attributes: { "db.system.name": "clickhouse" } })
    )

const makeCommand = (client: ClickHouseClient) => (statement: Statement) =>
  request(statement.timeout, (signal) =>
    client.command({
      query: statement.query,
      query_params: { ...statement.params },
      clickhouse_settings: { ...limits(statement.timeout), ...statement.settings, wait_end_of_query: 1 },
      abort_signal: signal
    })).pipe(
      Effect.asVoid,
      Effect.withSpan("ClickHouse.command", { attributes: { "db.system.name": "clickhouse" } })
    )

const ping = (client: ClickHouseClient) =>
  Effect.tryPromise({
    try: async (signal) => {
      const result = await client.ping({ select: true, abort_signal: signal })
      if (!result.success) throw result.error
    },
    catch: clickHouseError
  }).pipe(
    Effect.timeoutFail({
      duration: pingTimeout,
      onTimeout: () => new ClickHouseError({ reason: "unreachable", code: "", message: "no answer within 2 seconds" })
    })
  )

const open = (url: string, database: string | undefined) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      createClient({
        url,
        application: "netops-api",
        max_open_connections: 20,
        // The limit of each request stands in its settings.
        request_timeout: 3_600_000,
        log: { level: 127 },
        ...(database === undefined ? {} : { database })
      })
    ),
    (client) => Effect.promise(() => client.close())
  )

/** A client of the server at a URL without a path, whose login may stand in it. */
export const clickHouseClient = (url: Redacted.Redacted, database: string) =>
  Effect.gen(function*() {
    const client = yield* open(Redacted.value(url), database)
    // Naming a database that isn't there yet is refused, so this client names none.
    const bare = yield* open(Redacted.value(url), undefined)
    return ClickHouse.of({
      database,
      query: makeQuery(client),
      stream: makeStream(client),
      insert: makeInsert(client),
      command: makeCommand(client),
      ping: ping(bare),
      createDatabase: makeQuery(bare)({
        query: "SELECT name FROM system.databases WHERE name = {database:String}",
        params: { database }
      }).pipe(
        Effect.flatMap(({ rows }) =>
          rows.length > 0 ? Effect.void : makeCommand(bare)({
            query: "CREATE DATABASE IF NOT EXISTS {database:Identifier}",
            params: { database }
          })
        )
      )
    })
  })

const databaseName = Config.nonEmptyString("NETOPS_CLICKHOUSE_DATABASE").pipe(
  Config.validate({
    message: "NETOPS_CLICKHOUSE_DATABASE must be a plain name",
    validation: (name) => /^[A-Za-z_]\w{0,62}$/.test(name)
  }),
  Config.option
)

const parseUrl = (url: Redacted.Redacted) =>
  Effect.try({
    try: () => {
      const parsed = new URL(Redacted.value(url))
      if (!/^https?:$/.test(parsed.protocol)) throw new Error("not an HTTP URL")
      const path = parsed.pathname.slice(1)
      parsed.pathname = ""
      return { path, server: Redacted.make(parsed.href), origin: parsed.origin }
    },
    catch: () =>
      new EngineUnavailable({
        engine: "clickhouse",
        message: "CLICKHOUSE_URL: expected http(s)://user:password@host:8123"
      })
  })

const external = Effect.fnUntraced(function*(configured: Redacted.Redacted) {
  const { origin, path, server } = yield* parseUrl(configured)
  const database = Option.getOrElse(yield* databaseName, () => path || "netops")
  const client = yield* clickHouseClient(server, database)
  const refused = new Set(["193", "194", "516"])
  yield* client.ping.pipe(
    Effect.mapError((error) =>
      new EngineUnavailable({
        engine: "clickhouse",
        message: `CLICKHOUSE_URL: ClickHouse at ${origin} ${
          refused.has(error.code) ? "refused the login" : `can't be reached (${error.code || error.message})`
        }`,
        cause: error
      })
    )
  )
  yield* Effect.logInfo(`clickhouse: external at ${origin}, database ${database}`)
  return client
})

const embedded = Effect.gen(function*() {
  const dataDir = yield* DataDir
  const server = yield* embeddedClickHouse(dataDir.path)
  const database = Option.getOrElse(yield* databaseName, () => "netops")
  yield* Effect.logInfo(`clickhouse: embedded ${server.version} in ${server.directory} on port ${server.port}`)
  return yield* clickHouseClient(server.url, database)
}).pipe(Effect.provide(DataDirLive))

const clickHouseUrl = Config.option(Config.redacted("CLICKHOUSE_URL")).pipe(
  Config.map(Option.filter((url) => Redacted.value(url).trim() !== ""))
)

/**
 * ClickHouse at `CLICKHOUSE_URL`, or an embedded engine in the data directory. The database is
 * `NETOPS_CLICKHOUSE_DATABASE`, else the path of the URL, else `netops`.
 */
export const ClickHouseLive: Layer.Layer<
  ClickHouse,
  ConfigError.ConfigError | DataDirUnusable | EngineUnavailable
> = Layer.scoped(
  ClickHouse,
  Effect.flatMap(clickHouseUrl, Option.match({ onNone: () => embedded, onSome: external }))
)
