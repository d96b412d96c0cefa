import { describe, it } from "@effect/vitest"
import { corpus } from "../live/firewallCorpus.ts"
import { kills } from "../live/firewallKills.ts"
import { pairs } from "../live/firewallPairs.ts"
import { traffic } from "../live/firewallTraffic.ts"

const applies = Number(process.env["NETOPS_CHAOS_APPLIES"] ?? 150)

const rulesets = Number(process.env["NETOPS_CHAOS_RULESETS"] ?? 200)
const cases = Number(process.env["NETOPS_CHAOS_CASES"] ?? 2_000)
const killings = Number(process.env["NETOPS_CHAOS_KILLS"] ?? 100)

describe("random rulesets after another", () => {
  it.scopedLive("leave the old or the new one in the kernel, and other tables alone", () => pairs(rulesets), 3_600_000)
})

describe("validation beside plain nft", () => {
  it.scopedLive("gives its verdict on rulesets of all kinds", () => corpus(cases), 3_600_000)
})

describe("a kill in the middle of an apply", () => {
  it.scopedLive(
    "leaves the old or the new ruleset, and the store agrees after the restart",
    () => kills(killings),
    3_600_000
  )
})

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
