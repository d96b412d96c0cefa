import { it } from "@effect/vitest"
import { liveSuite } from "../support/live.ts"
import { corpus } from "./firewallCorpus.ts"

liveSuite("validation beside plain nft", ["nft", "unshare", "nsenter"], () => {
  it.scopedLive("gives its verdict on rulesets of all kinds", () => corpus(40), 300_000)
})
