import { Data } from "effect"

/** A store the service can't start without: `message` is the one line for the operator and never holds a secret. */
export class EngineUnavailable extends Data.TaggedError("EngineUnavailable")<{
  readonly engine: "postgres" | "clickhouse"
  readonly message: string
  readonly cause?: unknown
}> {}
