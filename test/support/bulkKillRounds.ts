import { Duration, Effect, Random } from "effect"
import { assertActedOnce, assertEnforced, blockJob, bulkPlace, progressBeyond } from "./bulkKills.ts"
import { startChild } from "./childProcess.ts"

/**
 * Kills the only node at a random moment of each of so many jobs and starts it anew; gives how many clients had been
 * dealt with each time, and how long it took from the new start to the end of the job.
 */
export const killRounds = (rounds: number, clients: number) =>
  Effect.gen(function*() {
    const place = yield* bulkPlace
    const env = { ...place.env, PORT: String(20_000 + (process.pid % 40_000)) }
    return yield* Effect.gen(function*() {
      const seen: Array<string> = []
      let node = yield* startChild("bulkNode.ts", env)
      yield* assertActedOnce(yield* blockJob(10))
      for (let round = 0; round < rounds; round++) {
        const id = yield* blockJob(clients)
        yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(0, 1500)))
        yield* node.kill("SIGKILL")
        const { processed } = yield* progressBeyond(id, -1)
        const startedAt = Date.now()
        node = yield* startChild("bulkNode.ts", env)
        yield* assertActedOnce(id)
        yield* assertEnforced(place.namespace)
        seen.push(`${processed} in ${Date.now() - startedAt} ms`)
      }
      return seen
    }).pipe(Effect.provide(place.stores))
  })
