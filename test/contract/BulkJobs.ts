import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, Redacted, TestClock, TestServices } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { ActionId } from "../../src/schema/Action.ts"
import { identityOf } from "../../src/schema/ActionRequest.ts"
import { type BulkItem, type BulkJob, JobId } from "../../src/schema/BulkJob.ts"
import { UserId, Username } from "../../src/schema/User.ts"
import { Actions } from "../../src/services/Actions.ts"
import { BulkJobs } from "../../src/services/BulkJobs.ts"
import { Users } from "../../src/services/Users.ts"
import { walk } from "./pages.ts"

const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")
const clientCount = 6

interface Names {
  readonly mac: (index: number) => string
  readonly by: UserId
}

const newNames = Effect.gen(function*() {
  const salt = randomBytes(4).toString("hex").match(/../g)!.join(":")
  const user = yield* (yield* Users).create({
    username: Username.make(randomUUID()),
    role: "operator",
    passwordHash: Redacted.make("hash")
  })
  const names: Names = { mac: (index) => `02:${salt}:${index.toString(16).padStart(2, "0")}`, by: user.id }
  return names
})

const create = (names: Names, clients: ReadonlyArray<number>, minutes?: number, delay?: number) =>
  Effect.gen(function*() {
    const at = yield* DateTime.now
    return yield* (yield* BulkJobs).create({
      id: JobId.make(randomUUID()),
      action: { type: "quarantine", ...(minutes === undefined ? {} : { duration_minutes: minutes }) },
      criteria: { all: true },
      criteria_hash: "sha256:0",
      reason: "as asked",
      created_by: names.by,
      request_id: "r-1",
      scheduled_at: delay === undefined ? null : DateTime.add(at, { minutes: delay }),
      created_at: at
    }, clients.map((index) => identityOf(names.mac(index))))
  })

const itemsOf = (id: JobId, limit = 2) =>
  Effect.flatMap(
    BulkJobs,
    (jobs) => Effect.map(walk(limit, (page) => jobs.items(id, page)), (pages) => pages.flatMap(({ items }) => items))
  )

const activeOf = (names: Names, index: number) =>
  Effect.flatMap(Actions, (actions) =>
    Effect.map(
      actions.list({ client: names.mac(index), status: "active", type: "quarantine", limit: 10 }),
      ({ items }) => items.map(({ expires_at }) => expires_at === null ? null : DateTime.formatIso(expires_at))
    ))

const clients = fc.uniqueArray(fc.nat({ max: clientCount - 1 }), { maxLength: clientCount })
const command = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("create" as const), clients, fc.constantFrom(undefined, 5, 60)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("schedule" as const), clients, fc.constantFrom(1, 30)) },
  { weight: 8, arbitrary: fc.tuple(fc.constant("step" as const), fc.integer({ min: 1, max: 4 })) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("cancel" as const), fc.nat({ max: 5 })) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("undo" as const), fc.nat({ max: 5 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("lift" as const), fc.nat({ max: clientCount - 1 })) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("wait" as const), fc.constantFrom(1, 6, 70)) }
)
const script = fc.array(command, { minLength: 1, maxLength: 25 })

const figures = (job: BulkJob) => [job.kind, job.status, job.total, job.processed, job.succeeded, job.skipped]
const seenOf = (item: BulkItem) => [item.position, item.status, item.detail]

/** Plays a script; what is seen after each step is all that a user could see, without ids. */
const play = Effect.fnUntraced(function*(commands: typeof script extends fc.Arbitrary<infer S> ? S : never) {
  const names = yield* newNames
  const jobs = yield* BulkJobs
  const made: Array<JobId> = []
  yield* TestClock.setTime(DateTime.toEpochMillis(start))
  const at = (index: number) => made[index % Math.max(1, made.length)] ?? JobId.make(randomUUID())
  const perform = Effect.fnUntraced(function*([kind, ...args]: (typeof commands)[number]) {
    const now = yield* DateTime.now
    switch (kind) {
      case "create":
        return made.push((yield* create(names, args[0] as Array<number>, args[1] as number | undefined)).id)
      case "schedule":
        return made.push((yield* create(names, args[0] as Array<number>, 60, args[1] as number)).id)
      case "step": {
        const running = (yield* jobs.running(now)).filter((id) => made.includes(id))
        // in the order they were made, whatever their ids
        const next = made.find((id) => running.includes(id))
        return next === undefined ? "idle" : yield* jobs.step(next, now, args[0] as number)
      }
      case "cancel":
        return figures(yield* jobs.cancel(at(args[0] as number), now))
      case "undo": {
        const undo = yield* jobs.undo(at(args[0] as number), {
          id: JobId.make(randomUUID()),
          created_by: names.by,
          created_at: now,
          request_id: "r-2",
          reason: "undo"
        })
        return made.push(undo.id)
      }
      case "lift": {
        const { items } = yield* (yield* Actions).list({
          client: names.mac(args[0] as number),
          status: "active",
          limit: 1
        })
        return items[0] && (yield* (yield* Actions).remove(ActionId.make(items[0].id), now)).status
      }
      case "wait":
        return yield* TestClock.adjust(`${args[0] as number} minutes`)
    }
  })
  return yield* Effect.forEach(commands, (command) =>
    Effect.gen(function*() {
      const answer = yield* Effect.match(perform(command), {
        onFailure: (error): unknown => "status" in error ? [error._tag, error.status] : error._tag,
        onSuccess: (value): unknown => value
      })
      const states = yield* Effect.forEach(made, (id) => Effect.map(jobs.get(id), figures))
      const items = yield* Effect.forEach(made, (id) => Effect.map(itemsOf(id), (all) => all.map(seenOf)))
      const active = yield* Effect.forEach(Array.from({ length: clientCount }, (_, i) => i), (i) => activeOf(names, i))
      return { command: command[0], answer: answer ?? null, states, items, active }
    }))
})

/** What every implementation of `BulkJobs`, with its actions, keeps. */
export const bulkJobsContract = (
  name: string,
  layer: Layer.Layer<BulkJobs | Actions | Users>,
  twin: Layer.Layer<BulkJobs | Actions | Users>,
  runs: { readonly script: number; readonly races: number }
) =>
  describe(`BulkJobs contract: ${name}`, () => {
    it.layer(layer)((it) => {
      it.effect.prop("whatever is done in turn, it answers as its twin in memory", [script], ([script]) =>
        Effect.gen(function*() {
          const seen = yield* play(script)
          const expected = yield* Effect.provide(play(script), Layer.fresh(twin))
          assert.deepStrictEqual(seen, expected)
        }), { fastCheck: { numRuns: runs.script } })

      it.effect("an undo leaves every client as it was before the job", () =>
        Effect.gen(function*() {
          yield* TestClock.setTime(DateTime.toEpochMillis(start))
          const names = yield* newNames
          const jobs = yield* BulkJobs
          const work = Effect.fnUntraced(function*(id: JobId) {
            while (yield* jobs.step(id, yield* DateTime.now, 2));
          })
          const all = [0, 1, 2, 3, 4, 5]
          yield* work((yield* create(names, [0, 1], 5)).id)
          yield* work((yield* create(names, [2])).id)
          const before = yield* Effect.forEach(all, (index) =>
            activeOf(names, index))
          const job = yield* create(names, all, 60)
          yield* work(job.id)
          assert.deepStrictEqual(
            (yield* itemsOf(job.id)).map(({ detail }) =>
              detail
            ),
            ["prolonged", "prolonged", "in_force", "created", "created", "created"]
          )
          const at = yield* DateTime.now
          const undo = { created_by: names.by, created_at: at, request_id: "r-3", reason: "undo" }
          const undone = yield* jobs.undo(job.id, { ...undo, id: JobId.make(randomUUID()) })
          yield* work(undone.id)
          assert.deepStrictEqual(
            yield* Effect.forEach(all, (index) =>
              activeOf(names, index)),
            before
          )
          const again = yield* Effect.flip(jobs.undo(job.id, { ...undo, id: JobId.make(randomUUID()) }))
          assert.strictEqual(again._tag, "BulkJobs/JobStateRefused")
        }))

      it.effect("a cancel that is answered stops everything, however it races the end", () =>
        Effect.gen(function*() {
          const names = yield* newNames
          const jobs = yield* BulkJobs
          const outcomes = new Set<string>()
          for (let round = 0; round < runs.races; round++) {
            const total = clientCount
            const job = yield* create(names, Array.from({ length: total }, (_, i) => (round * total + i) % 256), 60)
            const workers = Effect.gen(function*() {
              while (yield* jobs.step(job.id, yield* DateTime.now, 1)) yield* Effect.yieldNow()
            })
            const cancel = Effect.gen(function*() {
              yield* TestServices.provideLive(Effect.sleep(`${(round * 7) % 40} millis`))
              const answer = yield* Effect.either(Effect.flatMap(DateTime.now, (at) => jobs.cancel(job.id, at)))
              return { answer, items: yield* itemsOf(job.id, 100) }
            })
            const [, , { answer, items }] = yield* Effect.all([workers, workers, cancel], { concurrency: "unbounded" })
            const after = yield* jobs.get(job.id)
            const dealt = items.filter(({ status }) => status !== "pending").length
            outcomes.add(answer._tag)
            assert.strictEqual(after.status, answer._tag === "Right" ? "cancelled" : "completed")
            assert.deepStrictEqual([after.processed, yield* itemsOf(job.id, 100)], [dealt, items])
            assert.strictEqual(after.succeeded + after.skipped + after.failed, after.processed)
          }
          // of few rounds all may end alike
          assert.isAtLeast(outcomes.size, runs.races < 1000 ? 1 : 2)
        }))
    })
  })
