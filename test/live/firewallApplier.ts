import { Effect } from "effect"
import { UserId } from "../../src/schema/User.ts"
import { Firewall } from "../../src/services/Firewall.ts"
import { firewallIn } from "./firewallIn.ts"

// A service in small, run as a process of its own: it applies a ruleset that nobody confirms, and waits to be killed.
const [path = "", seconds = "3", nftables = "[]"] = process.argv.slice(2)

const program = Effect.gen(function*() {
  const firewall = yield* Firewall
  const ruleset = { nftables: JSON.parse(nftables) as ReadonlyArray<unknown> }
  const draft = { name: "cut", description: "", comment: "", ruleset }
  const { id } = yield* firewall.create(draft, UserId.make(1))
  const answer = yield* firewall.apply(id, {
    confirmSeconds: Number(seconds),
    comment: undefined,
    expectedVersion: undefined,
    adopt: true
  })
  yield* Effect.sync(() => process.stdout.write(`DEADLINE ${answer.config.confirm_deadline?.epochMillis}\n`))
  return yield* Effect.never
})

Effect.runFork(Effect.provide(program, firewallIn(path)))
