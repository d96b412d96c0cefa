import { Clock, Duration, Effect, Layer } from "effect"
import { BatchLedger, LedgerTimes, type PlacedBatch } from "../../src/services/BatchLedger.ts"
import { BatchNumbers } from "../../src/services/DhcpEvents.ts"
import { BatchNumbersMemory } from "./BatchNumbersMemory.ts"

interface Row extends PlacedBatch {
  readonly state: "open" | "late" | "stored" | "void"
  readonly openedAt: number
  readonly leaseUntil: number
}

/** The ledger in memory, by the clock of the test. */
export const BatchLedgerMemory = Layer.effect(
  BatchLedger,
  Effect.gen(function*() {
    const times = yield* LedgerTimes
    const numbers = yield* BatchNumbers
    const lease = Duration.toMillis(times.lease)
    const rows = new Map<number, Row>()
    let horizon = 0
    const now = Clock.currentTimeMillis
    const change = (number: number, states: ReadonlyArray<Row["state"]>, changed: Partial<Row>) =>
      Effect.sync(() => {
        const row = rows.get(number)
        if (row === undefined || !states.includes(row.state)) return false
        rows.set(number, { ...row, ...changed })
        return true
      })
    const ordered = () => [...rows.values()].sort((a, b) => a.place - b.place)
    const opened = () => [...rows.values()].filter(({ state }) => state === "open")
    const place = (number: number, states: ReadonlyArray<Row["state"]>) =>
      Effect.flatMap(Effect.orDie(numbers.next), (next) => change(number, states, { state: "stored", place: next }))

    return BatchLedger.of({
      open: (batch) =>
        Effect.gen(function*() {
          const [number, openedAt] = [yield* numbers.next, yield* now]
          rows.set(number, { ...batch, number, place: number, state: "open", openedAt, leaseUntil: openedAt + lease })
          return number
        }),
      renew: (number) => Effect.flatMap(now, (at) => change(number, ["open"], { leaseUntil: at + lease })),
      close: (number) =>
        Effect.flatMap(
          change(number, ["open"], { state: "stored" }),
          (closed) => closed ? Effect.void : place(number, ["late", "void"])
        ),
      leave: (number) => change(number, ["open"], { state: "late" }),
      read: (after, limit) =>
        Effect.map(now, (at) => {
          const open = opened()
          const settled = open.length > 0
            ? Math.min(...open.map((row) => row.place)) - 1
            : Math.max(horizon, ...[...rows.values()].map((row) => row.place))
          const batches = ordered().filter((row) => row.state === "stored" && row.place > after && row.place <= settled)
            .slice(0, limit).map(({ events, from, number, place, to }) => ({ events, from, number, place, to }))
          return { horizon, settled, overdue: open.some(({ leaseUntil }) => leaseUntil < at), batches }
        }),
      reap: Effect.map(now, (at) => {
        for (const row of opened()) if (row.leaseUntil <= at) rows.set(row.number, { ...row, state: "late" })
      }),
      late: Effect.map(
        now,
        (at) =>
          ordered().filter(({ openedAt, state }) =>
            state === "late" && openedAt <= at - Duration.toMillis(times.lateAfter)
          )
      ),
      settle: (number, stored) => stored ? place(number, ["late"]) : change(number, ["late"], { state: "void" }),
      prune: Effect.map(now, (at) => {
        const over = ordered().filter(({ state }) => state === "stored" || state === "void")
        const cut = Math.max(
          0,
          ...over.filter(({ openedAt }) => openedAt <= at - Duration.toMillis(times.keep)).map((row) => row.place)
        )
        for (const row of over) if (row.place <= cut) rows.delete(row.number)
        horizon = Math.max(horizon, cut)
      })
    })
  })
).pipe(Layer.provide(BatchNumbersMemory))
