import { it } from "@effect/vitest"
import { Effect } from "effect"
import { killRounds } from "../support/bulkKillRounds.ts"
import { liveSuite } from "../support/live.ts"

const rounds = Number(process.env["NETOPS_CHAOS_ROUNDS"] ?? 20)

liveSuite("bulk jobs of 10 000 clients under kill -9", ["nft", "ip", "nsenter"], () => {
  it.scopedLive(
    "every client is acted on once and the packet filter is equal to what is desired",
    () => Effect.flatMap(killRounds(rounds, 10_000), (seen) => Effect.logInfo(`${rounds} kills`, seen)),
    3_600_000
  )
})
