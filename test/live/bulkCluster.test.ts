import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertActedOnce, assertEnforced, blockJob, bulkPlace, progressBeyond } from "../support/bulkKills.ts"
import { startChild } from "../support/childProcess.ts"
import { liveSuite } from "../support/live.ts"

/** On a machine that does nothing else; elsewhere it is told, and only has to come. */
const takeoverSecondsMax = process.env["NETOPS_CHAOS"] === undefined ? 40 : 11

liveSuite("bulk jobs on three nodes", ["nft", "ip", "nsenter"], () => {
  it.scopedLive(
    "a job whose node is killed is finished by another, each client acted on once",
    () =>
      Effect.gen(function*() {
        const place = yield* bulkPlace
        yield* Effect.gen(function*() {
          const env = { ...place.env, NETOPS_CLUSTER: "1" }
          const nodes = yield* Effect.all(
            Array.from({ length: 3 }, () => startChild("bulkNode.ts", env)),
            { concurrency: "unbounded" }
          )
          yield* assertActedOnce(yield* blockJob(10))
          const id = yield* blockJob(20_000)
          const { processed, total } = yield* progressBeyond(id, 0)
          const runsIt = nodes.find((node) => node.output().includes(`bulk job ${id} runs here`))
          assert.isDefined(runsIt, nodes.map((node) => node.output()).join("\n"))
          yield* runsIt!.kill("SIGKILL")
          const killedAt = Date.now()
          assert.isBelow(processed, total)
          // what it had committed when it died may show late, the successor goes on from there
          yield* Effect.sleep("1 second")
          const left = yield* progressBeyond(id, 0)
          yield* progressBeyond(id, left.processed)
          const seconds = (Date.now() - killedAt) / 1000
          yield* Effect.logInfo(`killed at client ${left.processed} of ${total}, taken over after ${seconds} s`)
          assert.isAtMost(seconds, takeoverSecondsMax)
          yield* assertActedOnce(id)
          yield* assertEnforced(place.namespace)
        }).pipe(Effect.provide(place.stores))
      }),
    150_000
  )
})
