import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Ref } from "effect"
import { randomBytes } from "node:crypto"
import { startChild } from "../support/childProcess.ts"
import { freshDatabase } from "../support/engines.ts"
import { nodeEnvironment, type Stores } from "../support/serverNode.ts"
import { eventLine, follow, ingestOn, settled, signIn, withFetch } from "../support/streamProof.ts"

const kills = 6

const ready = (url: string) =>
  Effect.promise(() => fetch(`${url}/health/ready`).then(({ status }) => status === 200, () => false)).pipe(
    Effect.tap((is) => is ? Effect.void : Effect.sleep("100 millis")),
    Effect.repeat({ until: (is) => is })
  )

/** A node as a process of its own, that is started again where it was after each kill. */
const startKillable = Effect.fnUntraced(function*(stores: Stores) {
  const environment = yield* nodeEnvironment(stores, {})
  const url = `http://127.0.0.1:${environment.PORT}`
  const start = Effect.tap(startChild("serverProcess.ts", environment), () => ready(url))
  const child = yield* Ref.make(yield* start)
  const kill = Effect.gen(function*() {
    yield* (yield* Ref.get(child)).kill("SIGKILL")
    yield* Ref.set(child, yield* start)
  })
  return { url, kill }
})

describe("live streams while nodes are killed", () => {
  it.scopedLive("tell each event once", () =>
    Effect.gen(function*() {
      const stores = { databaseUrl: yield* freshDatabase, database: `test_${randomBytes(6).toString("hex")}` }
      const nodes = [yield* startKillable(stores), yield* startKillable(stores)]
      const urlOf = (offset: number) => (attempt: number) => Effect.sync(() => nodes[(offset + attempt) % 2]!.url)
      const token = yield* signIn(nodes[0]!.url)
      const streams = [yield* follow(urlOf(0), token), yield* follow(urlOf(1), token)]
      const stop = yield* Ref.make(false)
      const sent = yield* Ref.make(0)
      const write = Effect.gen(function*() {
        const first = yield* Ref.getAndUpdate(sent, (count) => count + 20)
        yield* ingestOn(urlOf(first / 20), token, Array.from({ length: 20 }, (_, i) => eventLine(first + i)))
      })
      const writing = yield* Effect.forkAll(
        Array.from({ length: 3 }, () => Effect.repeat(write, { until: () => Ref.get(stop) }))
      )
      for (let n = 0; n < kills; n++) {
        yield* Effect.sleep(Duration.seconds(2))
        yield* nodes[n % 2]!.kill
      }
      yield* Ref.set(stop, true)
      yield* writing
      const total = yield* Ref.get(sent)
      yield* Effect.logInfo(`${total} events, ${kills} kills`)
      for (const stream of streams) {
        yield* settled(stream.told, total)
        assert.deepStrictEqual(stream.wrong, [])
        assert.deepStrictEqual([...stream.told].sort((a, b) => a - b), Array.from({ length: total }, (_, n) => n))
      }
    }).pipe(withFetch), 600_000)
})
