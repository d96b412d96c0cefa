import { Effect } from "effect"
import { UserId } from "../../src/schema/User.ts"
import { type ApplyRequest, Firewall } from "../../src/services/Firewall.ts"
import { FirewallConfigs } from "../../src/services/FirewallConfigs.ts"
import { Nft } from "../../src/services/Nft.ts"
import { firewallIn } from "./firewallIn.ts"
import { dataDir } from "./nftSandbox.ts"

export const by = UserId.make(1)

/** An apply without a guard. */
export const plainly: ApplyRequest = {
  confirmSeconds: undefined,
  comment: undefined,
  expectedVersion: undefined,
  adopt: false
}
export const draft = (nftables: ReadonlyArray<unknown>) => ({
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

export const open = [table, chain("accept"), rule([{ counter: null }, { accept: null }])]
export const cut = [table, chain("drop"), rule([{ drop: null }])]

/** The firewall in a sandbox of its own. */
export const inSandbox = <A, E>(
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

/** The table `inet own` as text. */
export const own = (nft: Nft["Type"]) =>
  Effect.map(nft.listText, (text) => /^table inet own \{[^]*?^\}$/m.exec(text)?.[0] ?? "")
