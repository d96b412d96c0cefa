import { HttpApiSchema, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CurrentUser } from "../../api/Auth.ts"
import type { Endpoint } from "../../api/endpoints.ts"
import { isProblem } from "../../api/Problem.ts"
import type { AuditOutcome } from "../../schema/AuditEntry.ts"
import { redact, storable } from "../../schema/Redaction.ts"
import { UserId } from "../../schema/User.ts"
import { AuditTrail } from "../../services/AuditTrail.ts"
import { Ids } from "../../services/Ids.ts"
import { UnitOfWork } from "../../services/UnitOfWork.ts"
import type { RequestFacts } from "./CurrentRequest.ts"
import { type Held, Idempotency } from "./Idempotency.ts"
import { etagOf, isNamed } from "./revisions.ts"

interface Call {
  readonly operation: Endpoint
  readonly request: HttpServerRequest.HttpServerRequest
  readonly facts: RequestFacts
  readonly path: { readonly id?: string } | undefined
  readonly success: Schema.Schema.Any
}

interface Who {
  readonly id: UserId
  readonly username: string
}

const decodeReason = Schema.decodeUnknownOption(Schema.Struct({ reason: Schema.String }))
const decodeId = Schema.decodeUnknownOption(Schema.Struct({ id: Schema.Union(Schema.String, Schema.Number) }))

/** The answer as it will be sent. */
const respond = (call: Call, value: unknown): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const answer = HttpServerResponse.isServerResponse(value)
    ? Effect.succeed(value)
    : Effect.map(
      Schema.encodeUnknown(call.success as Schema.Schema<unknown, unknown>)(value),
      (encoded) => HttpServerResponse.unsafeJson(encoded, { status: HttpApiSchema.getStatusSuccess(call.success) })
    )
  const { revision } = call.facts.notes
  return Effect.orDie(answer).pipe(
    Effect.map((response) =>
      revision === undefined ? response : HttpServerResponse.setHeader(response, "etag", etagOf(revision))
    )
  )
}

/** The body of an answer that is JSON. */
const jsonOf = (response: HttpServerResponse.HttpServerResponse): unknown => {
  if (response.body._tag !== "Uint8Array" || !response.body.contentType?.includes("json")) return null
  return JSON.parse(new TextDecoder().decode(response.body.body)) as unknown
}

/**
 * What is done around every handler. Of each operation that changes something an audit entry is kept: within the
 * handler's own transaction where the operation is atomic, else one before it acts and one with its outcome, so that
 * no change is without a trace whenever the process dies.
 */
export class Execution extends Context.Tag("http/Execution")<
  Execution,
  {
    readonly around: <E, R>(
      call: Call,
      handler: Effect.Effect<unknown, E, R>
    ) => Effect.Effect<unknown, E, R>
  }
>() {}

export const ExecutionLive = Layer.effect(
  Execution,
  Effect.gen(function*() {
    const trail = yield* AuditTrail
    const ids = yield* Ids
    const unit = yield* UnitOfWork
    const idempotency = yield* Idempotency

    const record = Effect.fnUntraced(function*(
      { facts, operation, path, request }: Call,
      outcome: AuditOutcome,
      answer: { readonly status: number | null; readonly body: unknown },
      who: Option.Option<Who>
    ) {
      // What a stranger types may be a password, whatever the field is called.
      const bodied = !operation.public && (operation.body === "required" || operation.body === "optional")
      const body = bodied ? yield* Effect.orElseSucceed(request.json, () => null) : null
      const user = Option.orElse(who, () => Option.fromNullable(facts.notes.account))
      const created = Option.map(decodeId(answer.body), ({ id }) => String(id))
      const reason = facts.notes.reason ?? Option.getOrNull(decodeReason(body))?.reason ?? null
      const kept = operation.plain ? storable : redact
      yield* trail.record({
        id: yield* ids.uuid,
        at: yield* DateTime.now,
        operation: operation.id,
        outcome,
        status: answer.status,
        user_id: Option.getOrNull(user)?.id ?? null,
        username: Option.getOrNull(user)?.username ?? null,
        target: redact(facts.notes.target ?? path?.id ?? Option.getOrNull(created)) as string | null,
        address: facts.address ?? null,
        request_id: facts.id,
        reason: redact(reason) as string | null,
        request: kept(body) ?? null,
        before: kept(facts.notes.before) ?? null,
        after: kept(facts.notes.after) ?? null
      })
    })

    const read = <E, R>(call: Call, handler: Effect.Effect<unknown, E, R>) =>
      Effect.flatMap(handler, (value) => {
        const { revision } = call.facts.notes
        if (!call.operation.traits.versioned) return Effect.succeed(value)
        if (revision !== undefined && isNamed(call.request.headers["if-none-match"], revision)) {
          return Effect.succeed(HttpServerResponse.empty({ status: 304, headers: { etag: etagOf(revision) } }))
        }
        return respond(call, value)
      })

    /** Acts, records and remembers: all of it or nothing. */
    const whole = <E, R>(call: Call, handler: Effect.Effect<unknown, E, R>, who: Option.Option<Who>, held: Held) =>
      unit.transaction(Effect.gen(function*() {
        const response = yield* Effect.flatMap(handler, (value) => respond(call, value))
        yield* record(call, "success", { status: response.status, body: jsonOf(response) }, who)
        yield* idempotency.remember(held, response)
        return response
      }))

    const stepwise = <E, R>(call: Call, handler: Effect.Effect<unknown, E, R>, who: Option.Option<Who>, held: Held) =>
      Effect.gen(function*() {
        if (!call.operation.public) yield* record(call, "begun", { status: null, body: null }, who)
        const value = yield* handler.pipe(Effect.tapErrorCause((cause) => {
          const error = cause._tag === "Fail" ? cause.error : undefined
          const status = isProblem(error) ? error.status : 500
          return record(call, "failure", { status, body: null }, who)
        }))
        const response = yield* respond(call, value)
        yield* record(call, "success", { status: response.status, body: jsonOf(response) }, who)
        yield* idempotency.remember(held, response)
        return response
      })

    return Execution.of({
      around: Effect.fnUntraced(function*(call, handler) {
        if (call.operation.method === "GET") return yield* read(call, handler)
        if (!call.operation.audited) return yield* handler
        const who = Option.map(yield* Effect.serviceOption(CurrentUser), ({ id, username }) => ({ id, username }))
        const run = call.operation.traits.atomic ? whole : stepwise
        if (!call.operation.traits.idempotent || Option.isNone(who)) return yield* run(call, handler, who, undefined)
        return yield* idempotency.once(call.request, call.facts, who.value.id, (held) => run(call, handler, who, held))
      }) as Execution["Type"]["around"]
    })
  })
)
