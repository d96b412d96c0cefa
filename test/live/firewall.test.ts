import { assert, it } from "@effect/vitest"
import { Effect, Either, FastCheck as fc } from "effect"
import { spawn } from "node:child_process"
import type { FirewallConfigId } from "../../src/schema/FirewallConfig.ts"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { UserId } from "../../src/schema/User.ts"
import { type ApplyRequest, Firewall } from "../../src/services/Firewall.ts"
import { checksumOf } from "../../src/services/firewall/checksum.ts"
import { FirewallConfigs } from "../../src/services/FirewallConfigs.ts"
import { Nft } from "../../src/services/Nft.ts"
import { rulesets } from "../support/arbitraries/ruleset.ts"
import { liveSuite } from "../support/live.ts"
import { firewallIn } from "./firewallIn.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const pairs = Number(process.env["NETOPS_FIREWALL_PAIRS"] ?? 24)
const by = UserId.make(1)

const plainly: ApplyRequest = {
  confirmSeconds: undefined,
  comment: undefined,
  expectedVersion: undefined,
  adopt: false
}
const draft = (nftables: ReadonlyArray<unknown>) => ({
  name: "test",
  description: "",
  comment: "",
  ruleset: { nftables }
})

const table = { add: { table: { family: "inet", name: "own" } } }
const chain = (policy: string) => ({
  add: { chain: { family: "inet", table: "own", name: "in", type: "filter", hook: "input", prio: 0, policy } }
})
const rule = (expr: ReadonlyArray<unknown>) => ({ add: { rule: { family: "inet", table: "own", chain: "in", expr } } })

const open = [table, chain("accept"), rule([{ counter: null }, { accept: null }])]
const cut = [table, chain("drop"), rule([{ drop: null }])]

/** A table that isn't ours, with a counter that has counted. */
const foreign: ReadonlyArray<NftCommandObject> = [
  { add: { table: { family: "ip", name: "theirs" } } },
  { add: { counter: { family: "ip", table: "theirs", name: "k", packets: 7, bytes: 700 } } },
  { add: { chain: { family: "ip", table: "theirs", name: "c" } } },
  { add: { rule: { family: "ip", table: "theirs", chain: "c", expr: [{ counter: { packets: 3, bytes: 9 } }] } } }
]

const inSandbox = <A, E>(
  use: (all: {
    readonly firewall: Firewall["Type"]
    readonly nft: Nft["Type"]
    readonly configs: FirewallConfigs["Type"]
    readonly path: string
  }) => Effect.Effect<A, E>
) =>
  Effect.gen(function*() {
    const path = yield* dataDir
    yield* Effect.gen(function*() {
      const [firewall, nft, configs] = yield* Effect.all([Firewall, Nft, FirewallConfigs])
      yield* use({ firewall, nft, configs, path })
    }).pipe(Effect.provide(firewallIn(path)))
  })

const own = (nft: Nft["Type"]) =>
  Effect.map(nft.listText, (text) => /^table inet own \{[^]*?^\}$/m.exec(text)?.[0] ?? "")

/** The parts of a table, which stand in the order in which they came. */
const parts = (text: string) => text.trim().replace(/^.*\{\n|\n\}$/g, "").split("\n\n").sort()

liveSuite("firewall configurations", ["nft", "unshare", "nsenter"], () => {
  it.scopedLive(
    `${pairs} random rulesets after another: the kernel has the old or the new one`,
    () =>
      inSandbox(({ firewall, nft }) =>
        Effect.gen(function*() {
          yield* nft.apply(foreign)
          const theirs = JSON.stringify((yield* nft.list).filter((object) => JSON.stringify(object).includes("theirs")))
          const { id } = yield* firewall.create(draft(open), by)
          yield* firewall.apply(id, plainly)
          let guarded = 0
          const verdicts = { applied: 0, refused: 0 }
          for (const ruleset of fc.sample(rulesets, pairs)) {
            const before = JSON.stringify(yield* nft.list)
            const judged = yield* firewall.validate({ nftables: ruleset })
            assert.strictEqual(JSON.stringify(yield* nft.list), before)
            yield* firewall.update(id, draft(ruleset), by)
            if (judged.valid && ++guarded % 4 === 0) {
              const text = yield* nft.listText
              yield* firewall.apply(id, { ...plainly, confirmSeconds: 30 })
              yield* firewall.rollback(id)
              assert.strictEqual(yield* nft.listText, text, JSON.stringify(ruleset))
            }
            const outcome = yield* Effect.either(firewall.apply(id, plainly))
            assert.strictEqual(Either.isRight(outcome), judged.valid, JSON.stringify(ruleset))
            const rendered = yield* Effect.either(nft.render(ruleset as ReadonlyArray<NftCommandObject>))
            assert.strictEqual(Either.isRight(rendered), judged.valid, JSON.stringify(ruleset))
            if (Either.isRight(outcome) && Either.isRight(rendered)) {
              verdicts.applied++
              assert.deepStrictEqual(parts(yield* own(nft)), parts(rendered.right), JSON.stringify(ruleset))
              assert.deepStrictEqual((yield* firewall.diff(id)).changes, [])
              const { drift } = yield* firewall.running
              assert.isTrue(drift[0]?.diff.identical, JSON.stringify(drift))
            } else {
              verdicts.refused++
              assert.strictEqual(JSON.stringify(yield* nft.list), before)
              const pointer = judged.errors[0]?.pointer ?? ""
              assert.match(pointer, /^\/nftables\/\d+\/add$/)
              const at = Number(pointer.split("/")[2])
              const without = yield* Effect.either(nft.render(ruleset.slice(0, at) as ReadonlyArray<NftCommandObject>))
              assert.isTrue(Either.isRight(without), `${pointer} ${JSON.stringify(ruleset)}`)
            }
            const now = (yield* nft.list).filter((object) => JSON.stringify(object).includes("theirs"))
            assert.strictEqual(JSON.stringify(now), theirs)
          }
          assert.isAbove(verdicts.applied, 0)
          assert.isAbove(verdicts.refused, 0)
          yield* firewall.remove(id)
          assert.strictEqual(yield* own(nft), "")
        })
      ),
    300_000
  )

  it.scopedLive(
    "an apply that nobody confirms is taken back at its deadline, also after kill -9 of the group",
    () =>
      Effect.gen(function*() {
        const path = yield* dataDir
        const nft = yield* Effect.provide(Nft, nftIn(path))
        yield* nft.apply(open)
        const before = yield* nft.listText
        const deadline = yield* Effect.async<number>((resume) => {
          const child = spawn("npx", ["vite-node", "test/live/firewallApplier.ts", path, "3", JSON.stringify(cut)], {
            detached: true,
            stdio: ["ignore", "pipe", "inherit"]
          })
          let found = 0
          child.stdout.on("data", (text) => {
            found = Number(/DEADLINE (\d+)/.exec(String(text))?.[1] ?? found)
            if (found > 0) process.kill(-child.pid!, "SIGKILL")
          })
          child.on("close", () => resume(Effect.succeed(found)))
        })
        assert.isAbove(deadline, Date.now())
        assert.notStrictEqual(yield* nft.listText, before)
        yield* Effect.sleep(Math.max(0, deadline - Date.now() - 300))
        const text = yield* nft.listText
        if (Date.now() < deadline) assert.notStrictEqual(text, before, "too early")
        yield* Effect.sleep(Math.max(0, deadline - Date.now() + 1_000))
        assert.strictEqual(yield* nft.listText, before)
      }),
    60_000
  )

  it.scopedLive(
    "a confirm that races the deadline always ends as its answer said",
    () =>
      inSandbox(({ configs, firewall, nft }) =>
        Effect.gen(function*() {
          const seen = { confirmed: 0, restored: 0 }
          const { id } = yield* firewall.create(draft(open), by)
          yield* firewall.apply(id, plainly)
          const before = yield* own(nft)
          for (let round = 0; round < 10; round++) {
            yield* firewall.update(id, draft(cut), by)
            const { config } = yield* firewall.apply(id, { ...plainly, confirmSeconds: 1 })
            const left = (config.confirm_deadline?.epochMillis ?? 0) - Date.now()
            yield* Effect.sleep(Math.max(0, left - 45 + 10 * round))
            const answer = yield* Effect.either(firewall.confirm(id))
            yield* Effect.sleep(500)
            yield* firewall.reconcile(false)
            const { applied, status } = yield* configs.standing(id)
            assert.strictEqual(status, "active")
            if (Either.isRight(answer)) {
              seen.confirmed++
              assert.include(yield* own(nft), "policy drop")
              assert.strictEqual(applied.version, config.version)
            } else {
              seen.restored++
              assert.strictEqual(yield* own(nft), before)
              assert.notStrictEqual(applied.version, config.version)
            }
            yield* firewall.update(id, draft(open), by)
            yield* firewall.apply(id, plainly)
            assert.strictEqual(yield* own(nft), before)
          }
          assert.strictEqual(seen.confirmed + seen.restored, 10)
        })
      ),
    60_000
  )

  it.scopedLive(
    "rolls back, extends, refuses while one is pending, and reapplies what a reboot took",
    () =>
      inSandbox(({ configs, firewall, nft }) =>
        Effect.gen(function*() {
          const { id } = yield* firewall.create(draft(cut), by)
          const tag = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
            Effect.map(Effect.flip(effect), ({ _tag }) => _tag)
          yield* firewall.apply(id, { ...plainly, confirmSeconds: 1 })
          yield* firewall.extend(id, 60)
          yield* Effect.sleep(1_500)
          assert.include(yield* own(nft), "policy drop")
          assert.strictEqual(yield* tag(firewall.apply(id, plainly)), "Firewall/ApplyPending")
          assert.strictEqual(yield* tag(firewall.remove(id)), "Firewall/ApplyPending")
          const back = yield* firewall.rollback(id)
          assert.strictEqual(back.status, "inactive")
          assert.strictEqual(yield* own(nft), "")
          assert.strictEqual(yield* tag(firewall.confirm(id)), "Firewall/NothingPending")

          yield* firewall.apply(id, plainly)
          const applied = yield* own(nft)
          const other = yield* firewall.create(draft(open), by)
          assert.strictEqual(yield* tag(firewall.apply(other.id, plainly)), "FirewallConfigs/TableOwned")
          yield* nft.apply([{ flush: { ruleset: null } }])
          yield* firewall.reconcile(true)
          assert.strictEqual(yield* own(nft), applied)

          yield* nft.apply([{ add: { table: { family: "ip", name: "theirs" } } }])
          const strangers = yield* firewall.create(draft([{ add: { table: { family: "ip", name: "theirs" } } }]), by)
          assert.strictEqual(yield* tag(firewall.apply(strangers.id, plainly)), "Firewall/TableForeign")
          yield* firewall.apply(strangers.id, { ...plainly, adopt: true })
          assert.deepStrictEqual(yield* firewall.remove(strangers.id), { deactivated: true })
          assert.strictEqual((yield* configs.get(strangers.id as FirewallConfigId)).is_deleted, 1)
          assert.strictEqual(yield* tag(firewall.remove(strangers.id)), "FirewallConfigs/Missing")
        })
      ),
    60_000
  )

  it.scopedLive("an apply that a crash cut off is carried out at the next start", () =>
    inSandbox(({ configs, firewall, nft }) =>
      Effect.gen(function*() {
        const { id } = yield* firewall.create(draft(open), by)
        const standing = yield* configs.standing(id)
        yield* configs.settle(id, { ...standing, intent: { version: 1, tables: ["inet own"], guard: null } })
        yield* firewall.reconcile(true)
        assert.strictEqual((yield* configs.standing(id)).status, "active")
        assert.strictEqual((yield* configs.get(id)).checksum, checksumOf({ nftables: open }))
        assert.include(yield* own(nft), "policy accept")
      })
    ))
})
