import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import canonicalize from "canonicalize"
import { Cause, Context, DateTime, Duration, Effect, Exit, Fiber, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import { problemContentType } from "../../api/Problem.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused } from "../../api/problems/access.ts"
import { redact, storable } from "../../schema/Redaction.ts"
import type { UserId } from "../../schema/User.ts"
import { IdempotencyKeys, type KeyScope, type RememberedAnswer } from "../../services/IdempotencyKeys.ts"
import { Ids } from "../../services/Ids.ts"
import { classify } from "./classify.ts"
import type { RequestFacts } from "./CurrentRequest.ts"
import { problemResponse } from "./problemResponse.ts"

/** How long answers are remembered, and for how long a node that is not heard of keeps its work. */
export const idempotencyLimits = { remembered: Duration.hours(24), lease: Duration.seconds(30), keyLength: 255 }

/** Work on a key that this request was granted; `undefined` where the request has no key. */
export type Held = {
  readonly scope: KeyScope
  readonly claimId: string
  /** What of a body is kept. */
  readonly kept: (body: unknown) => unknown
} | undefined

const keptHeaders = ["content-type", "location", "etag", "retry-after", "cache-control"]

const toRemember = (
  response: HttpServerResponse.HttpServerResponse,
  kept: (body: unknown) => unknown
): RememberedAnswer => {
  const { body } = response
  const contentType = body.contentType ?? ""
  const sent = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  const text = contentType.includes("json") ? JSON.stringify(kept(JSON.parse(sent))) : sent
  const headers = Object.fromEntries(
    Object.entries({ ...response.headers, "content-type": contentType }).filter(([name]) => keptHeaders.includes(name))
  )
  return { status: response.status, headers, body: text }
}

/** The first answer again; a problem carries the id of the request that it answers now. */
const replay = ({ body, headers, status }: RememberedAnswer, requestId: string) => {
  const contentType = headers["content-type"] ?? "application/json"
  const text = contentType === problemContentType
    ? JSON.stringify({ ...(JSON.parse(body) as object), requestId })
    : body
  return HttpServerResponse.text(text, { status, contentType, headers: { ...headers, "idempotent-replayed": "true" } })
}

const fingerprintOf = (url: string, body: unknown): string =>
  createHash("sha256").update(`${url}\n${canonicalize(body ?? null)}`).digest("hex")

const invalidKey = () => {
  const message = `Expected 1 to ${idempotencyLimits.keyLength} visible ASCII characters`
  return new InvalidRequest({
    detail: `The headers are not valid at /idempotency-key: ${message}`,
    errors: [{ in: "headers", pointer: "/idempotency-key", message }]
  })
}

/** Answers a request that carries an `Idempotency-Key` once, however often it comes. */
export class Idempotency extends Context.Tag("http/Idempotency")<
  Idempotency,
  {
    readonly once: <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      facts: RequestFacts,
      userId: UserId,
      work: (held: Held) => Effect.Effect<unknown, E, R>
    ) => Effect.Effect<unknown, E | InvalidRequest | IdempotencyInFlight | IdempotencyKeyReused, R>
    /** Keeps the answer to work that was granted; dies where the grant was lost, so that a transaction is undone. */
    readonly remember: (held: Held, response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void>
  }
>() {}

export const IdempotencyLive = Layer.effect(
  Idempotency,
  Effect.gen(function*() {
    const keys = yield* IdempotencyKeys
    const ids = yield* Ids

    const leaseEnd = Effect.map(DateTime.now, DateTime.addDuration(idempotencyLimits.lease))

    const remember = (held: Held, response: HttpServerResponse.HttpServerResponse) =>
      held === undefined
        ? Effect.void
        : Effect.flatMap(
          keys.finish(held.scope, held.claimId, toRemember(response, held.kept)),
          (kept) => kept ? Effect.void : Effect.die(new Error("the lease of an idempotency key was lost"))
        )

    const renewing = ({ claimId, scope }: NonNullable<Held>) =>
      Effect.flatMap(leaseEnd, (until) => keys.renew(scope, claimId, until)).pipe(
        Effect.delay(Duration.times(idempotencyLimits.lease, 1 / 3)),
        Effect.forever,
        Effect.interruptible
      )

    /** A refusal below 500 is an answer like any other; work that died gives the key back. */
    const settle = Effect.fnUntraced(function*(
      held: NonNullable<Held>,
      facts: RequestFacts,
      cause: Cause.Cause<unknown>
    ) {
      const problem = Option.getOrUndefined(classify(cause))
      if (problem === undefined || problem.status >= 500) {
        yield* keys.release(held.scope, held.claimId)
        return yield* Effect.failCause(cause as Cause.Cause<never>)
      }
      const response = problemResponse(problem, facts.id, yield* ids.uuid)
      yield* remember(held, response)
      return response
    })

    const once: Idempotency["Type"]["once"] = Effect.fnUntraced(function*(request, facts, userId, work) {
      const key = request.headers["idempotency-key"]
      if (key === undefined) return yield* work(undefined)
      if (!/^[\x21-\x7e]+$/.test(key) || key.length > idempotencyLimits.keyLength) return yield* invalidKey()
      const path = request.url.split("?", 1)[0]!
      const kept = facts.operation?.plain === true ? storable : redact
      const held = { scope: { userId, method: request.method, path, key }, claimId: yield* ids.uuid, kept }
      const at = yield* DateTime.now
      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const claim = yield* keys.claim({
            scope: held.scope,
            claimId: held.claimId,
            fingerprint: fingerprintOf(request.url, kept(yield* Effect.orDie(request.json))),
            at,
            leaseUntil: yield* leaseEnd,
            expiresAt: DateTime.addDuration(at, idempotencyLimits.remembered)
          })
          switch (claim._tag) {
            case "Answered":
              return replay(claim.answer, facts.id)
            case "InFlight":
              return yield* new IdempotencyInFlight({ detail: "The first request with this key is not answered yet" })
            case "Reused":
              return yield* new IdempotencyKeyReused({ detail: "This key came with another body before" })
            case "Granted": {
              const renewal = yield* Effect.fork(renewing(held))
              const exit = yield* Effect.exit(restore(work(held)))
              yield* Fiber.interruptFork(renewal)
              return Exit.isSuccess(exit) ? exit.value : yield* settle(held, facts, exit.cause)
            }
          }
        })
      )
    })

    return Idempotency.of({ once, remember })
  })
)
