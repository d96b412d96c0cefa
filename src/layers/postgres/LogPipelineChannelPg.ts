import { SqlClient, SqlSchema } from "@effect/sql"
import { Effect, Layer, Option, Schema } from "effect"
import { ChannelError, LogPipelineDraft, LogPipelineSettings } from "../../schema/LogPipeline.ts"
import { UserId } from "../../schema/User.ts"
import { type AppliedChannel, LogPipelineChannel } from "../../services/LogPipelineChannel.ts"
import { isExpected, RevisionMismatch } from "../../services/Revision.ts"
import { Timestamp } from "./sql.ts"

const Row = Schema.Struct({
  revision: Schema.Int,
  // What earlier versions left out has its default.
  settings: LogPipelineDraft,
  sealed_secrets: Schema.String,
  applied_at: Timestamp
})
const NewRow = Schema.Struct({
  settings: Schema.parseJson(LogPipelineSettings),
  sealed_secrets: Schema.String,
  applied_by: UserId,
  applied_at: Timestamp
})
const Status = Schema.Struct({ last_error: Schema.NullOr(ChannelError) })
const encodeError = Schema.encodeSync(Schema.parseJson(ChannelError))

const toDomain = ({ applied_at, revision, sealed_secrets, settings }: typeof Row.Type): AppliedChannel => ({
  revision,
  settings,
  sealedSecrets: sealed_secrets,
  appliedAt: applied_at
})

/** Every configuration that was applied; the newest is in force. */
export const LogPipelineChannelPg = Layer.effect(
  LogPipelineChannel,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const newest = SqlSchema.findOne({
      Request: Schema.Void,
      Result: Row,
      execute: () => sql`SELECT * FROM log_pipeline_revisions ORDER BY revision DESC LIMIT 1`
    })
    const insert = SqlSchema.single({
      Request: NewRow,
      Result: Row,
      execute: (row) => sql`INSERT INTO log_pipeline_revisions ${sql.insert(row)} RETURNING *`
    })
    const selectStatus = SqlSchema.single({
      Request: Schema.Void,
      Result: Status,
      execute: () => sql`SELECT last_error FROM log_pipeline_status`
    })
    const current = Effect.orDie(Effect.map(newest(), Option.map(toDomain)))

    return LogPipelineChannel.of({
      current,
      apply: Effect.fn("LogPipelineChannel.apply")(function*({ at, by, expected, sealedSecrets, settings }) {
        // What applies at once queues up on the status.
        yield* Effect.orDie(sql`UPDATE log_pipeline_status SET last_error = NULL`)
        const before = yield* current
        const revision = Option.match(before, { onNone: () => 0, onSome: (applied) => applied.revision })
        if (!isExpected(expected, revision)) return yield* new RevisionMismatch({ revision })
        const row = { settings, sealed_secrets: sealedSecrets, applied_by: by, applied_at: at }
        return toDomain(yield* Effect.orDie(insert(row)))
      }, (effect) =>
        Effect.catchIf(
          sql.withTransaction(effect),
          (error): error is Exclude<typeof error, RevisionMismatch> => !(error instanceof RevisionMismatch),
          Effect.die
        )),
      lastError: Effect.orDie(Effect.map(selectStatus(), ({ last_error }) => last_error)),
      noteError: (error) =>
        Effect.orDie(Effect.asVoid(
          sql`UPDATE log_pipeline_status SET last_error = ${error === null ? null : encodeError(error)}::jsonb`
        ))
    })
  })
)
