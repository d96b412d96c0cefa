import { DateTime, Effect, Layer } from "effect"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { FirewallGuard, type GuardState } from "../../src/services/FirewallGuard.ts"
import { Nft } from "../../src/services/Nft.ts"

interface Armed {
  readonly restore: ReadonlyArray<ReadonlyArray<NftCommandObject>>
  state: GuardState
}

const lost: Armed = { restore: [], state: { kind: "lost" } }

/** A guard by the `Clock`, which restores when it is next looked at after its deadline. */
export const FirewallGuardMemory = Layer.effect(
  FirewallGuard,
  Effect.gen(function*() {
    const nft = yield* Nft
    const guards = new Map<string, Armed>()
    let made = 0

    const restore = (armed: Armed) =>
      Effect.firstSuccessOf(armed.restore.map((commands) => nft.apply(commands))).pipe(
        Effect.orDie,
        Effect.andThen(() => void (armed.state = { kind: "restored" }))
      )
    const look = (guard: string) =>
      Effect.gen(function*() {
        const armed = guards.get(guard)
        if (armed === undefined) return lost
        const { state } = armed
        if (state.kind === "pending" && DateTime.lessThanOrEqualTo(state.deadline, yield* DateTime.now)) {
          yield* restore(armed)
        }
        return armed
      })
    const state = (guard: string) => Effect.map(look(guard), (armed) => armed.state)
    const change = (guard: string, next: Effect.Effect<GuardState>) =>
      Effect.gen(function*() {
        const armed = yield* look(guard)
        if (armed.state.kind === "pending") armed.state = yield* next
        return armed.state
      })
    const due = (seconds: number) =>
      Effect.map(DateTime.now, (now): GuardState => ({ kind: "pending", deadline: DateTime.add(now, { seconds }) }))

    return FirewallGuard.of({
      name: Effect.sync(() => `guard-${++made}`),
      arm: (guard, options) =>
        Effect.gen(function*() {
          const deadline = DateTime.add(yield* DateTime.now, { seconds: options.seconds })
          guards.set(guard, { restore: options.restore, state: { kind: "pending", deadline } })
          return { deadline }
        }),
      state,
      confirm: (guard) => change(guard, Effect.succeed({ kind: "confirmed" })),
      extend: (guard, seconds) => change(guard, due(seconds)),
      rollback: (guard) => Effect.zipRight(change(guard, due(-1)), state(guard)),
      revive: state,
      release: (guard) => Effect.sync(() => void guards.delete(guard))
    })
  })
)
