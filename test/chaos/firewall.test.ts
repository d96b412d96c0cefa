import { describe, it } from "@effect/vitest"
import { traffic } from "../live/firewallTraffic.ts"

const applies = Number(process.env["NETOPS_CHAOS_APPLIES"] ?? 150)

describe("applies under traffic", () => {
  it.scopedLive(
    "leak no denied packet and lose no allowed one",
    () => traffic({ applies, rate: 2_500, remade: false }),
    3_600_000
  )

  it.scopedLive(
    "leak no denied packet where tables are made anew",
    () => traffic({ applies, rate: 2_500, remade: true }),
    3_600_000
  )
})
