import { Context, Data, type DateTime, type Effect, type Option, type Scope } from "effect"
import type { ChannelError, LogPipelineSecrets, LogPipelineSettings } from "../schema/LogPipeline.ts"
import type { UserId } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

/** A configuration that all nodes go by. */
export interface AppliedChannel {
  readonly revision: number
  readonly settings: LogPipelineSettings
  readonly sealedSecrets: string
  readonly appliedAt: DateTime.Utc
}

/** The configuration of the log-pipeline channel, one for all nodes. */
export class LogPipelineChannel extends Context.Tag("services/LogPipelineChannel")<
  LogPipelineChannel,
  {
    readonly current: Effect.Effect<Option.Option<AppliedChannel>>
    readonly apply: (change: {
      readonly settings: LogPipelineSettings
      readonly sealedSecrets: string
      readonly by: UserId
      readonly at: DateTime.Utc
      readonly expected?: Expected
    }) => Effect.Effect<AppliedChannel, RevisionMismatch>
    readonly lastError: Effect.Effect<ChannelError | null>
    readonly noteError: (error: ChannelError | null) => Effect.Effect<void>
  }
>() {}

/** Where records go: settings with the secrets that belong in them. */
export interface ChannelTarget {
  readonly settings: LogPipelineSettings
  readonly secrets: LogPipelineSecrets
}

/**
 * The peer has not taken the records. `record`: it refuses just these, others may pass; `channel`: nothing would pass
 * now. The message names no secret.
 */
export class SendFailed extends Data.TaggedError("LogPipeline/SendFailed")<{
  readonly scope: "record" | "channel"
  readonly message: string
}> {}

/** A record as JSON, with what a syslog header says of it. */
export interface PipelineRecord {
  readonly json: string
  readonly type: string
  readonly severity: "info" | "warning" | "critical"
  readonly time: string
  readonly eventId: string
  readonly deliveryId: string
}

/** An open way to the pipeline. */
export interface Pipe {
  /** Succeeds once the peer has taken all of them. */
  readonly send: (records: ReadonlyArray<PipelineRecord>) => Effect.Effect<void, SendFailed>
}

/** The network side of the channel. */
export class LogPipelineTransport extends Context.Tag("services/LogPipelineTransport")<
  LogPipelineTransport,
  {
    /** Connects as `send` would, and sends nothing. */
    readonly probe: (target: ChannelTarget) => Effect.Effect<void, SendFailed>
    readonly open: (target: ChannelTarget) => Effect.Effect<Pipe, never, Scope.Scope>
  }
>() {}
