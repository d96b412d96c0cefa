import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, type Layer } from "effect"
import { randomUUID } from "node:crypto"
import type { AuditEntry, AuditVerdict } from "../../src/schema/AuditEntry.ts"
import { redact } from "../../src/schema/Redaction.ts"
import { UserId } from "../../src/schema/User.ts"
import { AuditTrail } from "../../src/services/AuditTrail.ts"

const json = fc.jsonValue().map((value) => redact(value) ?? null)

/** Any entry that can be recorded. */
export const auditEntry: fc.Arbitrary<AuditEntry> = fc.record({
  id: fc.uuid(),
  at: fc.integer({ min: 0, max: 4_000_000_000_000 }).map((millis) => DateTime.unsafeMake(millis)),
  operation: fc.constantFrom("automation.createRule", "signIn.login"),
  outcome: fc.constantFrom("begun" as const, "success" as const, "failure" as const),
  status: fc.option(fc.constantFrom(200, 201, 401)),
  user_id: fc.option(fc.integer({ min: 1, max: 2_147_483_647 }).map((id) => UserId.make(id))),
  username: fc.option(fc.constantFrom("admin", "viewer")),
  target: fc.option(fc.uuid()),
  address: fc.option(fc.ipV4()),
  request_id: fc.uuid(),
  reason: fc.option(fc.string().map((text) => redact(text) as string)),
  request: json,
  before: json,
  after: json
})

/** Everything that is recorded is sealed at the end. */
export const sealAll: Effect.Effect<AuditVerdict, never, AuditTrail> = Effect.gen(function*() {
  const trail = yield* AuditTrail
  yield* trail.seal
  const verdict = yield* trail.verify(undefined)
  return verdict.unsealed === 0 ? verdict : yield* sealAll
})

/** What every implementation of `AuditTrail` keeps. */
export const auditTrailContract = (name: string, layer: Layer.Layer<AuditTrail>, numRuns: number) =>
  describe(`AuditTrail contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop(
        "entries are listed as recorded and stay valid when sealed",
        [fc.array(auditEntry, { maxLength: 6 })],
        ([entries]) =>
          Effect.gen(function*() {
            const trail = yield* AuditTrail
            const fresh = entries.map((entry) => ({ ...entry, id: randomUUID() }))
            yield* Effect.forEach(fresh, trail.record, { concurrency: "unbounded" })
            for (const entry of fresh) {
              const { items } = yield* trail.list({ limit: 10, request_id: entry.request_id })
              assert.deepInclude(JSON.parse(JSON.stringify(items)), JSON.parse(JSON.stringify(entry)))
            }
            yield* sealAll
            const verdict = yield* trail.verify(undefined)
            assert.deepStrictEqual(verdict.faults, [])
            assert.isTrue(verdict.valid)
            assert.strictEqual(verdict.unsealed, 0)
          }),
        { fastCheck: { numRuns } }
      )

      it.effect("a head that was seen is known again, another is not", () =>
        Effect.gen(function*() {
          const trail = yield* AuditTrail
          yield* trail.record({ ...fc.sample(auditEntry, 1)[0]!, id: randomUUID() })
          const { head } = yield* sealAll
          yield* trail.record({ ...fc.sample(auditEntry, 1)[0]!, id: randomUUID() })
          yield* sealAll
          assert.isTrue((yield* trail.verify(head!)).valid)
          const forged = yield* trail.verify({ ...head!, hash: "0".repeat(64) })
          assert.deepStrictEqual(forged.faults, [{ kind: "head_missing", batch: head!.batch, entry: null }])
        }))

      it.effect("the list is filtered", () =>
        Effect.gen(function*() {
          const trail = yield* AuditTrail
          const target = randomUUID()
          const [entry] = fc.sample(auditEntry, 1)
          const at = DateTime.unsafeMake("2026-05-05T05:05:05Z")
          const mine = { ...entry!, id: randomUUID(), target, at, outcome: "success" as const }
          yield* trail.record(mine)
          const count = (query: object) => Effect.map(trail.list({ limit: 5, target, ...query }), ({ total }) => total)
          assert.strictEqual(yield* count({}), 1)
          assert.strictEqual(yield* count({ outcome: "failure" }), 0)
          assert.strictEqual(yield* count({ operation: "no.such" }), 0)
          assert.strictEqual(yield* count({ start: at }), 1)
          assert.strictEqual(yield* count({ end: at }), 0)
        }))
    })
  })
