import type { ClickHouseSettings } from "@clickhouse/client"
import { Context, type Duration, type Effect, type Stream } from "effect"
import type { ClickHouseError } from "./ClickHouseError.ts"

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
    /** Pieces of whole lines, made while they are sent. */
    readonly lines: () => Iterable<string>
  }
  /** An insert with a token seen lately is done and adds nothing: this makes repeating one safe. */
  readonly deduplicationToken?: string
  readonly settings?: ClickHouseSettings
  readonly timeout?: Duration.DurationInput
}

/** The one ClickHouse client of the process; unqualified table names mean tables of `database`. */
export class ClickHouse extends Context.Tag("clickhouse/ClickHouse")<ClickHouse, {
  readonly database: string
  /** The cluster on whose every server the tables are, `undefined` where there is one server. */
  readonly cluster: string | undefined
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
