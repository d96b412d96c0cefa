import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, FastCheck as fc, Layer, Redacted } from "effect"
import { tokenByPassword } from "../../src/api/client.ts"
import { SignInLimits } from "../../src/services/SignInLimits.ts"
import { type Answer, assertProblem, call } from "../support/client.ts"
import { seed } from "../support/seed.ts"
import { Callers, createUser, passwordOf, testApi } from "../support/testApi.ts"
import { answersOf } from "./answers.ts"
import { hostileBodies, hostileMedia, hostileTexts, mutated } from "./corpus.ts"
import { document, type Target, targets } from "./targets.ts"

/** Cases made for each operation beside the corpus; `npm run fuzz` makes 10 000. */
const runs = Number(process.env["NETOPS_FUZZ_RUNS"] ?? 25)
const timeout = 180_000 + runs * 100

const never = { max: 1e9, window: Duration.minutes(1) }
const Unlimited = Layer.succeed(
  SignInLimits,
  SignInLimits.of({
    session: { expiresIn: Duration.hours(1), idle: Duration.hours(1), absolute: Duration.hours(12) },
    lockout: never,
    address: never,
    requests: never
  })
)

const Fuzzed = testApi().pipe(Layer.provide(Unlimited))

interface Case {
  readonly kind: "positive" | "negative" | "mutated" | "hostile"
  readonly ids: ReadonlyArray<string>
  readonly query: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Whether a text can stand in a URL: lone surrogates can't. */
const isSendable = (text: string) => text !== "" && Buffer.from(text, "utf8").toString() === text

/** Ids that were answered, by the collection that they belong to. */
const known = new Map<string, Array<string>>()
const idsMax = 50

const remember = ({ operation: { method, path } }: Target, { json, status }: Answer) => {
  const id = json?.id as unknown
  if (method !== "POST" || status >= 300 || (typeof id !== "string" && typeof id !== "number")) return
  const ids = known.get(path) ?? []
  known.set(path, [...ids.slice(-idsMax), String(id)])
}

const idsFor = ({ operation, pathNames }: Target): fc.Arbitrary<ReadonlyArray<string>> => {
  const collection = operation.path.slice(0, Math.max(0, operation.path.indexOf("/:")))
  const random = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.uuid(),
    fc.nat().map(String),
    fc.constantFrom(...hostileTexts)
  )
    .filter((id) => id !== "." && id !== ".." && isSendable(id))
  return fc.tuple(...pathNames.map((_, index) => {
    const ids = index === 0 ? known.get(collection) ?? [] : []
    return ids.length === 0 ? random : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...ids) }, random)
  }))
}

const asJson = (value: unknown) => ({ body: JSON.stringify(value), headers: { "content-type": "application/json" } })

/** Random cases of an operation: what its schemas make, that with one thing wrong, and hostile queries. */
const randomCases = (target: Target): fc.Arbitrary<Case> => {
  const ids = idsFor(target)
  const { body, query } = target
  const pairs = fc.tuple(
    query,
    fc.option(fc.tuple(fc.constantFrom("limit", "cursor", "start", "filter", "x"), fc.constantFrom(...hostileTexts)))
  ).map(([good, evil]) => evil !== null && isSendable(evil[1]) ? { ...good, [evil[0]]: evil[1] } : good)
  if (body === undefined) {
    return fc.oneof(
      fc.record({ ids, query }).map((made) => ({
        ...made,
        kind: target.takesQuery(made.query) ? "positive" as const : "negative" as const
      })),
      fc.record({ kind: fc.constant("mutated" as const), ids, query: pairs })
    )
  }
  return fc.oneof(
    fc.record({ ids, query, body }).map((made) => ({
      ...made,
      kind: target.takesBody(made.body) && target.takesQuery(made.query) ? "positive" as const : "mutated" as const,
      ...asJson(made.body)
    })),
    fc.record({ ids, query, body: body.chain(mutated) }).map((made) => ({
      ...made,
      kind: target.takesBody(made.body) ? "mutated" as const : "negative" as const,
      ...asJson(made.body)
    }))
  )
}

/** The whole corpus, as bodies and as ids. */
const hostileCases = (target: Target): ReadonlyArray<Case> => {
  const ids = target.pathNames.map(() => "1")
  const bodies = target.operation.body === "none" ? [] : hostileBodies
  const media = target.operation.body === "none" ? [] : hostileMedia
  return [
    ...bodies.map((body) => ({
      kind: "hostile" as const,
      ids,
      query: {},
      body,
      headers: { "content-type": target.operation.contentType }
    })),
    ...media.map(([type, body]) => ({
      kind: "negative" as const,
      ids,
      query: {},
      body,
      headers: { "content-type": type }
    })),
    ...(ids.length === 0 ? [] : hostileTexts).filter(isSendable).map((text) => ({
      kind: "hostile" as const,
      ids: ids.map(() => text),
      query: {}
    }))
  ]
}

const urlOf = ({ operation, pathNames }: Target, { ids, query }: Case) => {
  const path = pathNames.reduce(
    (path, name, index) => path.replace(`:${name}`, encodeURIComponent(ids[index]!)),
    operation.path
  )
  const search = new URLSearchParams(query).toString()
  return search === "" ? path : `${path}?${search}`
}

const { check } = answersOf(document)

let users = 0

/** A new administrator, whom whatever an operation did before can't have touched. */
const administrator = Effect.gen(function*() {
  const { anonymous } = yield* Callers
  const username = `fuzz-${users++}`
  yield* createUser(username, "admin")
  return yield* Effect.orDie(tokenByPassword(anonymous, { username, password: passwordOf("admin") }))
})

const send = (target: Target, one: Case, token: Redacted.Redacted | undefined) =>
  call(target.operation.method, urlOf(target, one), {
    token,
    ...(one.body === undefined ? {} : { body: one.body }),
    ...(one.headers === undefined ? {} : { headers: one.headers })
  })

/** Whether what is refused is an id in the request: a schema doesn't say which records there are. */
const namesStrangers = ({ json }: Answer): boolean =>
  Array.isArray(json?.errors) && json.errors.length > 0 &&
  json.errors.every(({ pointer }: { readonly pointer: string }) => pointer.endsWith("_id"))

const textOf = (target: Target, one: Case) =>
  `${one.kind} ${target.operation.method} ${urlOf(target, one)} ${
    typeof one.body === "string" ? one.body : ""
  } (seed ${seed})`

describe("fuzz", () => {
  layer(Fuzzed, { timeout: "1 minute" })((it) => {
    for (const target of targets) {
      const { operation } = target
      it.effect(`${operation.id} answers as documented, whatever it is sent`, () =>
        Effect.gen(function*() {
          const random = target.streams
            ? []
            : fc.sample(randomCases(target), { numRuns: runs, seed: seed + targets.indexOf(target) })
          let token = yield* administrator
          for (const one of [...hostileCases(target), ...random]) {
            const answer = yield* send(target, one, token)
            check(operation, answer, textOf(target, one))
            remember(target, answer)
            if (answer.status === 401) token = yield* administrator
            else if (one.kind === "negative") assert.isAtLeast(answer.status, 400, textOf(target, one))
            else if (one.kind === "positive" && target.pathNames.length === 0 && !namesStrangers(answer)) {
              assert.notStrictEqual(
                answer.json?.type,
                "/problems/invalid-request",
                `${textOf(target, one)}: ${answer.text}`
              )
            }
          }
        }), timeout)

      it.effect(`${operation.id} knows its method and its callers`, () =>
        Effect.gen(function*() {
          const one: Case = { kind: "hostile", ids: target.pathNames.map(() => "1"), query: {} }
          const url = urlOf(target, one)
          const served = targets.map((other) => other.operation)
            .filter(({ path }) => new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`).test(url))
            .map(({ method }) => method as string)
          const foreign = ["PATCH", "PUT", "DELETE", "POST", "GET"].find((method) => !served.includes(method))!
          const answer = yield* call(foreign, url)
          assertProblem(answer, 405, "method-not-allowed")
          assert.include(answer.headers["allow"]!.split(", "), operation.method)
          if (operation.public) return
          const headers = operation.body === "none" ? {} : { "content-type": operation.contentType }
          assertProblem(yield* send(target, { ...one, headers }, undefined), 401, "unauthenticated")
          assertProblem(yield* send(target, { ...one, headers }, Redacted.make("x".repeat(43))), 401, "unauthenticated")
        }))
    }
  })
})
