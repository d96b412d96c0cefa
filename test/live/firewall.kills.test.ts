import { it } from "@effect/vitest"
import { liveSuite } from "../support/live.ts"
import { kills } from "./firewallKills.ts"

liveSuite("a kill in the middle of an apply", ["nft", "unshare", "nsenter"], () => {
  it.scopedLive("leaves the old or the new ruleset, and the store agrees after the restart", () => kills(5), 180_000)
})
