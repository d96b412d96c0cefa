import { SqlError } from "@effect/sql/SqlError"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { ClickHouseError } from "../../src/layers/clickhouse/ClickHouseError.ts"
import { Actions } from "../../src/services/Actions.ts"
import { DhcpEvents } from "../../src/services/DhcpEvents.ts"
import { NftUnavailable } from "../../src/services/Nft.ts"
import { Readiness } from "../../src/services/Readiness.ts"
import { assertProblem, call } from "../support/client.ts"
import { Callers, testApi } from "../support/testApi.ts"

const secret = "SELECT password_hash FROM users"
const id = "7d4c1a0e-0000-4000-8000-000000000000"

const sqlError = (code: string, message = secret) =>
  new SqlError({ message: secret, cause: Object.assign(new Error(message), { code }) })

/** A store of actions that answers as the test last said. */
let answer: Effect.Effect<any> = Effect.void
const told = Effect.suspend(() => answer)

const withActions = Effect.fnUntraced(function*(next: Effect.Effect<any>) {
  answer = next
  const { token } = yield* Callers
  return yield* call("GET", `/api/actions/${id}`, { token: token.viewer })
})

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

const FailingApi = Layer.provideMerge(
  testApi(Layer.succeed(
    Actions,
    Actions.of({
      get: () => told,
      list: () => told,
      blockedClients: told,
      order: () => told,
      remove: () => told,
      removeAll: () => told
    })
  )),
  silent
)

const assertInternal = (answer: Parameters<typeof assertProblem>[0]) => {
  assertProblem(answer, 500, "internal")
  for (const inside of ["SELECT", "password_hash", "Error", ".ts", "node_modules", "Parse"]) {
    assert.notInclude(answer.text, inside)
  }
  assert.notProperty(answer.headers, "retry-after")
}

layer(FailingApi)("failures inside", (it) => {
  it.effect("are told without what is inside", () =>
    Effect.gen(function*() {
      const defects = [
        new Error(secret),
        secret,
        { secret },
        null,
        undefined,
        sqlError("42P01"),
        sqlError("23505"),
        sqlError(""),
        new ClickHouseError({ reason: "rejected", code: "60", message: secret })
      ]
      for (const defect of defects) assertInternal(yield* withActions(Effect.die(defect)))
      assertInternal(
        yield* withActions(Effect.sync(() => {
          throw new Error(secret)
        }))
      )
    }))

  it.effect("are told as ours where an answer breaks its own schema", () =>
    Effect.gen(function*() {
      assertInternal(yield* withActions(Effect.succeed({ id, status: "broken", reason: secret })))
      assertInternal(yield* withActions(Effect.succeed({ path: secret })))
      assertInternal(yield* withActions(Effect.succeed(secret)))
      assertInternal(yield* withActions(Effect.succeed(undefined)))
    }))

  it.effect("are an outage where a store can't be reached", () =>
    Effect.gen(function*() {
      const outages = [
        sqlError("ECONNREFUSED"),
        sqlError("57P01"),
        sqlError("08006"),
        sqlError("53300"),
        sqlError("", "Connection terminated unexpectedly"),
        new ClickHouseError({ reason: "unreachable", code: "ECONNREFUSED", message: secret }),
        new ClickHouseError({ reason: "timeout", code: "159", message: secret }),
        new NftUnavailable({ reason: secret })
      ]
      for (const outage of outages) {
        const answer = yield* withActions(Effect.die(outage))
        assertProblem(answer, 503, "unavailable")
        assert.match(answer.headers["retry-after"]!, /^[1-9]\d*$/)
        assert.notInclude(answer.text, "SELECT")
      }
    }))

  it.effect("of the analytics store are an outage of its operations alone", () => {
    const down = Effect.die(new ClickHouseError({ reason: "unreachable", code: "ECONNREFUSED", message: secret }))
    return Effect.gen(function*() {
      const { token } = yield* Callers
      assertProblem(yield* call("GET", "/api/dhcp/events", { token: token.viewer }), 503, "unavailable")
      assert.strictEqual((yield* call("GET", "/api/actions", { token: token.viewer })).status, 200)
    }).pipe(
      Effect.provide(
        testApi(Layer.succeed(DhcpEvents, DhcpEvents.of({ append: () => down, list: () => down, retentionDays: down })))
      ),
      Effect.provide(silent)
    )
  })

  it.effect("show in the readiness where what fails is required", () => {
    const up = { ok: true, detail: "", required: true }
    const readiness = (nft: { readonly ok: boolean; readonly detail: string; readonly required: boolean }) =>
      testApi(
        Layer.succeed(
          Readiness,
          Readiness.of({ check: Effect.succeed({ postgres: up, clickhouse: up, nft, migrations: up }) })
        )
      )
    return Effect.gen(function*() {
      const down = { ok: false, detail: "no nft here", required: true }
      const required = yield* call("GET", "/health/ready").pipe(Effect.provide(readiness(down)))
      assert.strictEqual(required.status, 503)
      assert.strictEqual(required.json.status, "unavailable")
      assert.deepStrictEqual(required.json.checks.nft, { ok: false, detail: "no nft here" })
      assert.isDefined(required.headers["retry-after"])
      const optional = yield* call("GET", "/health/ready").pipe(Effect.provide(readiness({ ...down, required: false })))
      assert.strictEqual(optional.status, 200)
      assert.strictEqual(optional.json.checks.nft.ok, false)
    })
  })
})
