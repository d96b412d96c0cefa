import { it } from "@effect/vitest"
import { liveSuite } from "../support/live.ts"
import { traffic } from "./firewallTraffic.ts"

liveSuite("applies under traffic", ["nft", "unshare", "nsenter", "ip"], () => {
  it.scopedLive(
    "leak no denied packet and lose no allowed one",
    () => traffic({ applies: 20, rate: 1_000, remade: false }),
    120_000
  )

  it.scopedLive(
    "leak no denied packet where tables are made anew",
    () => traffic({ applies: 20, rate: 1_000, remade: true }),
    120_000
  )
})
