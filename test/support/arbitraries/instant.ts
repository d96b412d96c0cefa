import { FastCheck as fc } from "effect"

const day = 86_400_000

/** Days that `instant` spans. */
export const instantDays = 4

/** Milliseconds within the first days of the epoch, often at a full hour or day or one beside it. */
export const instant: fc.Arbitrary<number> = fc.oneof(
  fc.nat(instantDays * day),
  fc.tuple(fc.nat(instantDays * 24), fc.integer({ min: -1, max: 1 })).map(([hours, ms]) =>
    Math.max(0, hours * 3_600_000 + ms)
  ),
  fc.tuple(fc.nat(instantDays), fc.integer({ min: -1, max: 1 })).map(([days, ms]) => Math.max(0, days * day + ms))
)
