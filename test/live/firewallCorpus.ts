import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Firewall } from "../../src/services/Firewall.ts"
import { nftCorpus } from "../support/nftCorpus/cases.ts"
import { firewallIn } from "./firewallIn.ts"
import { dataDir } from "./nftSandbox.ts"

/** Whether plain nft takes a file with these commands on an empty ruleset; a crash is a refusal. */
const plainly = (directory: string, holder: number) => (nftables: ReadonlyArray<unknown>) =>
  Effect.promise(async () => {
    const file = join(directory, "plain.json")
    await writeFile(file, JSON.stringify({ nftables }))
    const args = [`--net=/proc/${holder}/ns/net`, "--", "nft", "-j", "-c", "-f", file]
    return new Promise<boolean>((resolve) => void execFile("nsenter", args, (error) => resolve(error === null)))
  })

/** Judges so many of the corpus, evenly taken, as a client would, each beside the plain tool. */
export const corpus = (count: number) =>
  Effect.gen(function*() {
    const path = yield* dataDir
    yield* Effect.gen(function*() {
      const firewall = yield* Firewall
      yield* firewall.validate({ nftables: [] })
      const plain = plainly(path, Number.parseInt(readFileSync(join(path, "nft", "sandbox"), "utf8"), 10))
      const all = nftCorpus()
      const verdicts = { valid: 0, invalid: 0 }
      for (let index = 0; index < count; index++) {
        const { name, nftables } = all[Math.floor((index + 0.5) * all.length / count)]!
        const { errors, valid } = yield* firewall.validate({ nftables })
        assert.strictEqual(valid, yield* plain(nftables), `${name}: ${JSON.stringify(errors)}`)
        verdicts[valid ? "valid" : "invalid"]++
        if (valid) continue
        // What stands before the object that is named is valid.
        const [, at] = /^\/nftables\/(\d+)(?:\/|$)/.exec(errors[0]?.pointer ?? "") ?? []
        assert.isDefined(at, `${name}: ${JSON.stringify(errors)}`)
        assert.isTrue(yield* plain(nftables.slice(0, Number(at))), name)
        assert.isFalse(yield* plain(nftables.slice(0, Number(at) + 1)), name)
      }
      yield* Effect.logWarning(`${count} of ${all.length} rulesets judged as nft does`, verdicts)
    }).pipe(Effect.provide(firewallIn(path)))
  })
