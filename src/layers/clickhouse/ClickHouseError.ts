import { ClickHouseError as ServerError } from "@clickhouse/client"
import { Data } from "effect"

/**
 * A statement that ClickHouse didn't carry out. `unreachable` and `timeout` may pass by themselves; `rejected` won't.
 * `code` is ClickHouse's number (`"60"`: unknown table) or the system's name (`"ECONNREFUSED"`), else empty.
 */
export class ClickHouseError extends Data.TaggedError("ClickHouseError")<{
  readonly reason: "unreachable" | "timeout" | "rejected"
  readonly code: string
  readonly message: string
  readonly cause?: unknown
}> {}

// TIMEOUT_EXCEEDED, TOO_SLOW
const timeouts = new Set(["159", "160"])
// TOO_MANY_SIMULTANEOUS_QUERIES, SOCKET_TIMEOUT, NETWORK_ERROR, ABORTED, TABLE_IS_READ_ONLY, ALL_CONNECTION_TRIES_FAILED
const outages = new Set(["202", "209", "210", "236", "242", "279"])

/** Tells what a failure of the client means. */
export const clickHouseError = (cause: unknown): ClickHouseError => {
  if (cause instanceof ClickHouseError) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  if (cause instanceof ServerError) {
    const reason = timeouts.has(cause.code) ? "timeout" : outages.has(cause.code) ? "unreachable" : "rejected"
    return new ClickHouseError({ reason, code: cause.code, message, cause })
  }
  // Anything else didn't come from ClickHouse: a socket that failed, or a proxy that speaks for it.
  const code = String((cause as { readonly code?: unknown } | null)?.code ?? "")
  return new ClickHouseError({ reason: "unreachable", code, message: message || code, cause })
}
