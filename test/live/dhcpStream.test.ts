import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { makeFetchClient } from "../../src/api/client.ts"
import { DhcpFilterDraft } from "../../src/schema/DhcpFilter.ts"
import { freshDatabase } from "../support/engines.ts"
import { startNode, type Stores } from "../support/serverNode.ts"
import { openStream } from "../support/sse.ts"
import { eventLine, follow, ingestOn, settled, signIn, withFetch } from "../support/streamProof.ts"

const ofHost = (value: string) =>
  Schema.decodeUnknownSync(DhcpFilterDraft)({
    name: value,
    rules: { rules: [{ field: "hostname", op: "eq", value }] }
  })

describe("live streams of two nodes on the same stores", () => {
  it.scopedLive(
    "tell each event once, by any node and over the restart of nodes, and end with their session",
    () =>
      Effect.gen(function*() {
        const stores: Stores = {
          databaseUrl: yield* freshDatabase,
          database: `test_${randomBytes(6).toString("hex")}`
        }
        const nodes = [yield* startNode(stores), yield* startNode(stores)]
        const urlOf = (offset: number) => (attempt: number) => Effect.sync(() => nodes[(offset + attempt) % 2]!.url)
        const token = yield* signIn(nodes[0]!.url)
        const client = yield* makeFetchClient({ baseUrl: nodes[0]!.url, token })
        const filter = yield* client.dhcpFilters.create({ payload: ofHost("wanted") })

        const whole = [yield* follow(urlOf(0), token), yield* follow(urlOf(1), token)]
        const filtered = [yield* follow(urlOf(0), token, filter.id), yield* follow(urlOf(1), token, filter.id)]

        const batches = 60
        const perBatch = 25
        const lines = (batch: number) => Array.from({ length: perBatch }, (_, i) => eventLine(batch * perBatch + i))
        const numbers = Array.from({ length: batches }, (_, index) => index)
        const ingesting = yield* Effect.fork(
          Effect.forEach(numbers, (n) => Effect.delay(ingestOn(urlOf(n), token, lines(n)), "40 millis"), {
            concurrency: 3,
            discard: true
          })
        )
        for (const index of [1, 0]) {
          yield* Effect.sleep("500 millis")
          yield* nodes[index]!.stop
          nodes[index] = yield* startNode(stores)
        }
        yield* ingesting
        const total = batches * perBatch
        const all = Array.from({ length: total }, (_, n) => n)
        for (const stream of whole) {
          yield* settled(stream.told, total)
          assert.deepStrictEqual([...stream.told].sort((a, b) => a - b), all)
          assert.deepStrictEqual(stream.wrong, [])
          assert.isAbove(yield* stream.connections, 1)
        }
        assert.deepStrictEqual(whole[0]!.told, whole[1]!.told, "all are told in the same order")
        for (const stream of filtered) {
          assert.deepStrictEqual(stream.wrong, [])
          yield* settled(stream.told, Math.ceil(total / 7))
          assert.deepStrictEqual(stream.told, whole[0]!.told.filter((n) => n % 7 === 0))
        }

        // A filter that is changed on one node holds on the other within a second or so.
        const changed = yield* openStream({ baseUrl: nodes[1]!.url, token, filterId: filter.id })
        const beside = yield* makeFetchClient({ baseUrl: nodes[0]!.url, token })
        yield* beside.dhcpFilters.update({ path: { id: filter.id }, payload: ofHost("other") })
        const [took, told] = yield* Effect.timed(changed.next)
        assert.strictEqual(told.event, "filter")
        assert.isBelow(Duration.toSeconds(took), 10)
        yield* ingestOn(urlOf(0), token, [eventLine(7 * total), eventLine(7 * total + 1)])
        assert.strictEqual((yield* changed.next).data.transaction_id, String(7 * total + 1))

        // So does the end of a session.
        yield* beside.account.logout({ payload: {} })
        const end = yield* changed.next
        assert.deepStrictEqual([end.event, end.data], ["end", { reason: "session_ended" }])
      }).pipe(withFetch),
    170_000
  )
})
