import { assert, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import type { FirewallConfigId } from "../../src/schema/FirewallConfig.ts"
import { checksumOf } from "../../src/services/firewall/checksum.ts"
import { liveSuite } from "../support/live.ts"
import { pairs } from "./firewallPairs.ts"
import { by, cut, draft, inSandbox, open, own, plainly } from "./firewallSandbox.ts"

liveSuite("firewall configurations", ["nft", "unshare", "nsenter"], () => {
  it.scopedLive("12 random rulesets after another: the kernel has the old or the new one", () => pairs(12), 300_000)

  it.scopedLive(
    "a confirm that races the deadline always ends as its answer said",
    () =>
      inSandbox(({ configs, firewall, nft }) =>
        Effect.gen(function*() {
          const seen = { confirmed: 0, restored: 0 }
          const { id } = yield* firewall.create(draft(open), by)
          yield* firewall.apply(id, plainly)
          const before = yield* own(nft)
          for (let round = 0; round < 6; round++) {
            yield* firewall.update(id, draft(cut), by)
            const { config } = yield* firewall.apply(id, { ...plainly, confirmSeconds: 1 })
            const left = (config.confirm_deadline?.epochMillis ?? 0) - Date.now()
            yield* Effect.sleep(Math.max(0, left - 45 + 16 * round))
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
          assert.strictEqual(seen.confirmed + seen.restored, 6)
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
          const { warnings } = yield* firewall.validate({
            nftables: [{ add: { table: { family: "ip", name: "theirs" } } }]
          })
          assert.deepStrictEqual(warnings.map(({ pointer }) => pointer), ["/nftables/0/add/table"])
          yield* firewall.apply(strangers.id, { ...plainly, adopt: true })
          assert.deepStrictEqual(yield* firewall.remove(strangers.id), { deactivated: true })
          assert.strictEqual((yield* configs.get(strangers.id as FirewallConfigId)).is_deleted, 1)
          assert.strictEqual(yield* tag(firewall.remove(strangers.id)), "FirewallConfigs/Missing")
        })
      ),
    60_000
  )

  it.scopedLive(
    "chains that jump too deep or in a circle are refused as the kernel refuses them",
    () =>
      inSandbox(({ firewall, nft }) =>
        Effect.gen(function*() {
          const at = { family: "inet", table: "own" }
          const linked = (links: ReadonlyArray<readonly [number, number]>) => [
            ...open,
            ...Array.from({ length: 17 }, (_, n) => ({ add: { chain: { ...at, name: `c${n}` } } })),
            ...links.map(([from, to]) => ({
              add: { rule: { ...at, chain: from === 0 ? "in" : `c${from}`, expr: [{ jump: { target: `c${to}` } }] } }
            }))
          ]
          const line = (length: number) => Array.from({ length }, (_, n) => [n, n + 1] as const)
          for (
            const [links, fine] of [[line(15), true], [line(16), false], [[[1, 1]], true], [
              [[0, 1], [1, 1]],
              false
            ]] as const
          ) {
            const commands = linked(links)
            const { errors, valid } = yield* firewall.validate({ nftables: commands })
            assert.strictEqual(valid, fine)
            if (!valid) assert.strictEqual(errors[0]?.pointer, `/nftables/${commands.length - 1}/add`)
            const { id } = yield* firewall.create(draft(commands), by)
            const before = yield* nft.listText
            const outcome = yield* Effect.either(firewall.apply(id, plainly))
            assert.strictEqual(Either.isRight(outcome), fine)
            if (!fine) assert.strictEqual(yield* nft.listText, before)
            yield* firewall.remove(id)
          }
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
