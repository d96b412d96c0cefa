import { assert } from "@effect/vitest"
import { Effect, Logger, LogLevel, Schedule } from "effect"
import { UserId } from "../../src/schema/User.ts"
import { Firewall } from "../../src/services/Firewall.ts"
import { startChild } from "../support/childProcess.ts"
import { type Netns, netns, vethTo } from "../support/netns.ts"
import { firewallIn } from "./firewallIn.ts"
import { dataDir } from "./nftSandbox.ts"

const [allowed, denied] = [7001, 7002]
const by = UserId.make(1)

/** Counts what comes in, before and behind the rules that are applied meanwhile. */
const gauge = [
  "table ip gauge {",
  ...["before", "behind"].flatMap((place) => [allowed, denied].map((port) => `counter ${place}_${port} { }`)),
  "chain before { type filter hook input priority -300;",
  ...[allowed, denied].map((port) => `udp dport ${port} counter name before_${port}`),
  "}",
  "chain behind { type filter hook input priority 300;",
  ...[allowed, denied].map((port) => `udp dport ${port} counter name behind_${port}`),
  "}",
  "}"
].join("\n")

const countsOf = (inside: Netns) =>
  Effect.map(inside.run("nft", "-j", "list", "counters"), (text) => {
    const { nftables } = JSON.parse(text) as {
      readonly nftables: ReadonlyArray<{ readonly counter?: { readonly name: string; readonly packets: number } }>
    }
    return Object.fromEntries(nftables.flatMap(({ counter }) => counter ? [[counter.name, counter.packets]] : []))
  })

/**
 * Rulesets that let the one port in and drop all else, each with other elements and rules; `remade`, also with another
 * priority of the chain and now and then another type of the set, so that they can't be changed in place.
 */
const draft = (round: number, remade: boolean) => {
  const at = { family: "inet", table: "own" }
  const prio = remade && round % 2 === 1 ? 10 : 0
  const flags = remade && round % 5 === 4 ? ["interval"] : []
  const dport = { payload: { protocol: "udp", field: "dport" } }
  const elem = Array.from({ length: 200 + round % 7 }, (_, n) => 20_000 + n)
  return {
    name: "own",
    description: "",
    comment: "",
    ruleset: {
      nftables: [
        { add: { table: { family: "inet", name: "own" } } },
        { add: { set: { ...at, name: "ports", type: "inet_service", flags, elem: [allowed, ...elem] } } },
        { add: { chain: { ...at, name: "in", type: "filter", hook: "input", prio, policy: "drop" } } },
        {
          add: {
            rule: {
              ...at,
              chain: "in",
              expr: [{ match: { op: "==", left: dport, right: "@ports" } }, { accept: null }]
            }
          }
        },
        ...Array.from({ length: round % 3 }, (_, n) => ({
          add: {
            rule: { ...at, chain: "in", expr: [{ match: { op: "==", left: dport, right: 9_000 + n } }, { drop: null }] }
          }
        }))
      ]
    }
  }
}

/**
 * Applies rulesets one after the other while packets come in that they all let in, and others that they all drop.
 * Where a set is made anew, the kernel may miss it for a packet that is under way at that instant: this may lose a
 * packet, never leak one.
 */
export const traffic = ({ applies, rate, remade }: {
  readonly applies: number
  readonly rate: number
  readonly remade: boolean
}) =>
  Effect.gen(function*() {
    const inside = yield* netns
    const { there } = yield* vethTo(inside)
    const path = yield* dataDir
    yield* inside.run("nft", gauge)
    yield* Effect.gen(function*() {
      const firewall = yield* Firewall
      const { id } = yield* firewall.create(draft(0, remade), by)
      const apply = firewall.apply(id, {
        confirmSeconds: 0,
        comment: undefined,
        expectedVersion: undefined,
        adopt: false
      })
      yield* apply
      const sender = yield* startChild("udpSender.ts", {}, {
        args: [there, String(rate), String(allowed), String(denied)]
      })
      yield* countsOf(inside).pipe(
        Effect.repeat({
          until: (counts) => counts[`before_${denied}`]! > 1_000,
          schedule: Schedule.spaced("50 millis")
        }),
        Effect.timeout("60 seconds")
      )
      const started = Date.now()
      const begun = yield* countsOf(inside)
      for (let round = 1; round <= applies; round++) {
        yield* firewall.update(id, draft(round, remade), by)
        yield* apply
      }
      const [ended, seconds] = [yield* countsOf(inside), (Date.now() - started) / 1000]
      yield* sender.kill("SIGTERM")
      const counts = yield* countsOf(inside)
      const during = ended[`before_${denied}`]! - begun[`before_${denied}`]!
      yield* Effect.logWarning(
        `${applies} applies in ${seconds.toFixed(1)} s under ${Math.round(2 * during / seconds)} packets/s`,
        counts
      )
      assert.isAbove(during, 0)
      assert.strictEqual(counts[`behind_${denied}`], 0, "denied packets leaked")
      const lost = counts[`before_${allowed}`]! - counts[`behind_${allowed}`]!
      assert.isAtMost(lost, remade ? 5 + applies / 20 : 0, "allowed packets were lost")
    }).pipe(
      Logger.withMinimumLogLevel(LogLevel.Warning),
      Effect.provide(firewallIn(path, { NETOPS_NFT_TARGET: `netns:${inside.name}` }))
    )
  })
