import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { DateTime, Effect, Schema } from "effect"
import type { Expected } from "../../services/Revision.ts"

/** `timestamptz` as the client returns it, kept in the domain as a UTC instant of millisecond precision. */
export const Timestamp = Schema.transform(Schema.DateFromSelf, Schema.DateTimeUtcFromSelf, {
  strict: true,
  decode: (date) => DateTime.unsafeFromDate(date),
  encode: (instant) => DateTime.toDateUtc(instant)
})

/**
 * Texts without commas as `text[]` of one parameter, in which null and '' are NULL: thousands of values of the driver's
 * own arrays are slow to write. Beside a longer one in `unnest` an empty one is NULL throughout.
 */
export const textArray = (sql: SqlClient, values: ReadonlyArray<string | null>): Fragment =>
  sql`string_to_array(${values.map((value) => value ?? "").join(",")}, ',', '')`

/** Whether the row has a revision, kept in this column, that a write is content to find. */
export const isExpectedIn = (sql: SqlClient, column: string, expected: Expected): Fragment =>
  expected === undefined ? sql`true` : sql`${sql(column)} = ANY (${expected}::integer[])`

const isSqlError = (error: unknown): error is SqlError =>
  (error as { readonly _tag?: unknown } | null)?._tag === "SqlError"

/** The SQLSTATE of a failed statement, or the system's name for a failed connection (`ECONNREFUSED`). */
export const codeOf = (error: SqlError): string =>
  String((error.cause as { readonly code?: unknown } | null | undefined)?.code ?? "")

// What the driver says without a code when a connection breaks, isn't made or isn't free in time.
const brokenConnection =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Connection timed out|Client (?:has encountered a connection error|was closed))/

/**
 * Whether Postgres could not be used at all, so that the same request may succeed later: SQLSTATE classes 08
 * (connection), 53 (resources) and 57P (shutdown, crash), failed sockets and an exhausted pool. Other failures are ours.
 */
export const isPostgresOutage = (error: unknown): boolean =>
  isSqlError(error) &&
  (/^(?:08|53|57P)|^E[A-Z]{3,}/.test(codeOf(error)) ||
    brokenConnection.test((error.cause as Error | undefined)?.message ?? ""))

/** Turns a unique violation (SQLSTATE 23505) into a domain error; every other failure of the statement is a defect. */
export const onUniqueViolation =
  <E>(make: () => E) => <A, E2, R>(self: Effect.Effect<A, E2 | SqlError, R>): Effect.Effect<A, E, R> =>
    Effect.catchAll(
      self,
      (error) => isSqlError(error) && codeOf(error) === "23505" ? Effect.fail(make()) : Effect.die(error)
    )
