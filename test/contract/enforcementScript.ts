import { DateTime, Effect, FastCheck as fc, Redacted, Schema, TestClock } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { ActionId, actionTypes } from "../../src/schema/Action.ts"
import { identityOf } from "../../src/schema/ActionRequest.ts"
import { Mac } from "../../src/schema/Mac.ts"
import { UserId, Username } from "../../src/schema/User.ts"
import { Actions } from "../../src/services/Actions.ts"
import { DesiredMacs, type DueAction } from "../../src/services/DesiredMacs.ts"
import type { Deadlines } from "../../src/services/enforcedElements.ts"
import { ProtectedMacs } from "../../src/services/ProtectedMacs.ts"
import { Users } from "../../src/services/Users.ts"

export const start = DateTime.unsafeMake("2026-01-31T08:00:00.000Z")

const toMac = Schema.decodeSync(Mac)
const clientCount = 4
const client = fc.nat({ max: clientCount - 1 })
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("order" as const),
      client,
      type: fc.constantFrom(...actionTypes),
      minutes: fc.constantFrom(undefined, 5, 60)
    })
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("remove" as const), action: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("removeAll" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("protect" as const), client }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unprotect" as const), client }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("look" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("markSynced" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("markExpired" as const),
      kind: fc.constantFrom("allow" as const, "any" as const)
    })
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.constantFrom(1, 6, 70) }) }
)

/** Orders, removals, the never-block list, time, and the packet filter following late. */
export const script = fc.array(command, { minLength: 1, maxLength: 25 })
type Command = typeof script extends fc.Arbitrary<ReadonlyArray<infer C>> ? C : never

export const newUserId = Effect.gen(function*() {
  const username = Username.make(randomUUID())
  return (yield* (yield* Users).create({ username, role: "operator", passwordHash: Redacted.make("hash") })).id
})

export const order = (mac: string, type: (typeof actionTypes)[number], minutes?: number) =>
  Effect.gen(function*() {
    const at = yield* DateTime.now
    return yield* (yield* Actions).order({
      id: ActionId.make(randomUUID()),
      type,
      tag: type === "tag" ? "seen" : null,
      ...identityOf(mac),
      expires_at: minutes === undefined ? null : DateTime.add(at, { minutes })
    }, { at, reason: "as asked", origin: { kind: "user", id: "1" } })
  })

const iso = (at: DateTime.Utc | null) => at && DateTime.formatIso(at)
const sorted = (deadlines: Deadlines) => [...deadlines].sort(([a], [b]) => a < b ? -1 : 1)

/** Plays a script on what other scripts have left, and gives what was seen after each command, without ids. */
export const play = Effect.fnUntraced(function*(commands: ReadonlyArray<Command>) {
  const actions = yield* Actions
  const protectedMacs = yield* ProtectedMacs
  const store = yield* DesiredMacs
  const by: UserId = yield* newUserId
  const salt = randomBytes(4).toString("hex").match(/../g)!.join(":")
  const mac = (index: number) => toMac(`02:${salt}:0${index}`)
  const nameless = (text: string) => text.replaceAll(salt, "")
  const macs = Array.from({ length: clientCount }, (_, index) => mac(index))
  const own = (known: ReadonlyArray<DueAction>) => known.filter(({ client_mac }) => client_mac.includes(salt))

  yield* TestClock.setTime(DateTime.toEpochMillis(start))
  const made: Array<ActionId> = []
  let looked = 0
  const perform = Effect.fnUntraced(function*(command: Command) {
    const now = yield* DateTime.now
    switch (command.do) {
      case "order": {
        const { action, created } = yield* order(mac(command.client), command.type, command.minutes)
        if (created) made.push(action.id)
        return [created, action.status, iso(action.expires_at), made.indexOf(action.id)]
      }
      case "remove":
        return (yield* actions.remove(made[command.action] ?? ActionId.make(randomUUID()), now)).status
      case "removeAll":
        return void (yield* actions.removeAll(now))
      case "protect":
        return nameless((yield* protectedMacs.add({ mac: mac(command.client), comment: "c", by, at: now })).mac)
      case "unprotect":
        return yield* protectedMacs.remove(mac(command.client))
      case "look":
        looked = (yield* store.behind).change
        return
      case "markSynced":
        return void (yield* store.markSynced(looked, now, ["inet", "bridge"]))
      case "markExpired":
        return yield* store.markExpired(own(yield* store.due(now, command.kind, 1000)), now)
      case "wait":
        return yield* TestClock.adjust(`${command.minutes} minutes`)
    }
  })
  const observe = Effect.gen(function*() {
    const now = yield* DateTime.now
    const { blocked_macs, quarantined_macs } = yield* store.desired(now, macs)
    const whole = yield* store.desired(now)
    const held = yield* Effect.forEach(made, actions.get)
    return {
      blocked: sorted(blocked_macs).map(([name, until]) => [nameless(name), until]),
      quarantined: sorted(quarantined_macs).map(([name, until]) => [nameless(name), until]),
      sameAsWhole: sorted(blocked_macs).every(([name, until]) => whole.blocked_macs.get(name) === until) &&
        macs.every((name) => whole.quarantined_macs.get(name) === quarantined_macs.get(name)),
      unsynced: (yield* store.behind).macs.filter((name) => name.includes(salt)).map(nameless),
      due: own(yield* store.due(now, "any", 1000)).length,
      actions: held.map(({ ended_at, enforced_at, status, synced_at, type }) => [
        type,
        status,
        iso(ended_at),
        iso(synced_at),
        enforced_at
      ]),
      listed: (yield* protectedMacs.list).filter((entry) => entry.mac.includes(salt)).map((entry) =>
        nameless(entry.mac)
      ),
      blockedClients: (yield* actions.blockedClients).filter((name) => name.includes(salt)).map(nameless)
    }
  })
  return yield* Effect.forEach(commands, (command) =>
    Effect.gen(function*() {
      const answer = yield* Effect.match(perform(command), {
        onFailure: (error): unknown => "reason" in error ? [error._tag, error.reason] : error._tag,
        onSuccess: (value): unknown => value
      })
      return { command, answer: answer ?? null, ...(yield* observe) }
    }))
})
