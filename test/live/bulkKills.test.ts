import { it } from "@effect/vitest"
import { Effect } from "effect"
import { killRounds } from "../support/bulkKillRounds.ts"
import { liveSuite } from "../support/live.ts"

liveSuite("bulk jobs under kill -9", ["nft", "ip", "nsenter"], () => {
  it.scopedLive(
    "every client is acted on once and the packet filter is equal to what is desired",
    () => Effect.flatMap(killRounds(2, 5000), (seen) => Effect.logInfo("kill -9", seen)),
    150_000
  )
})
