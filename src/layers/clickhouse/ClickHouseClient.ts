import { type ClickHouseClient, type ClickHouseSettings, createClient, type ResponseJSON } from "@clickhouse/client"
import { Chunk, Duration, Effect, Redacted, Stream } from "effect"
import { Readable } from "node:stream"
import { ClickHouse, type Insert, type Rows, type Statement } from "./ClickHouse.ts"
import { ClickHouseError, clickHouseError } from "./ClickHouseError.ts"
import { onCluster } from "./clusterDdl.ts"

/** Where a client connects to, beside its URL. */
export interface ConnectionOptions {
  /** URL with the login of the reads, which has to leave `readonly` unset; that of everything else by default. */
  readonly readUrl?: Redacted.Redacted
  readonly cluster?: string
  /** PEM of the authority that signed the server's certificate, where the system doesn't know it. */
  readonly ca?: Uint8Array
}

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
      values: Readable.from(rows.lines(), { objectMode: false })
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

const open = (url: Redacted.Redacted, { ca }: ConnectionOptions, database?: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      createClient({
        url: Redacted.value(url),
        application: "netops-api",
        max_open_connections: 20,
        // The limit of each request stands in its settings.
        request_timeout: 3_600_000,
        log: { level: 127 },
        ...(ca === undefined ? {} : { tls: { ca_cert: Buffer.from(ca) } }),
        ...(database === undefined ? {} : { database })
      })
    ),
    (client) => Effect.promise(() => client.close())
  )

/** A client of the server at a URL without a path, whose login may stand in it. */
export const clickHouseClient = Effect.fnUntraced(
  function*(url: Redacted.Redacted, database: string, options: ConnectionOptions = {}) {
    const { cluster, readUrl } = options
    const client = yield* open(url, options, database)
    const reader = readUrl === undefined ? client : yield* open(readUrl, options, database)
    // Naming a database that isn't there yet is refused, so these name none.
    const bare = yield* open(url, options)
    const bareReader = readUrl === undefined ? bare : yield* open(readUrl, options)
    return ClickHouse.of({
      database,
      cluster,
      query: makeQuery(reader),
      stream: makeStream(reader),
      insert: makeInsert(client),
      command: makeCommand(client),
      ping: readUrl === undefined ? ping(bare) : Effect.zipRight(ping(bare), ping(bareReader)),
      createDatabase: makeQuery(bare)({
        query: "SELECT name FROM system.databases WHERE name = {database:String}",
        params: { database }
      }).pipe(
        Effect.flatMap(({ rows }) =>
          rows.length > 0 ? Effect.void : makeCommand(bare)({
            query: onCluster(cluster)("CREATE DATABASE IF NOT EXISTS {database:Identifier}"),
            params: { database }
          })
        )
      )
    })
  }
)
