import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, FastCheck as fc, Layer, TestClock } from "effect"
import { watchDisk } from "../../src/services/diskWatch.ts"
import { Retention } from "../../src/services/Retention.ts"
import { ServiceEvents } from "../../src/services/ServiceEvents.ts"
import { ServiceEventsMemory } from "../layers/ServiceEventsMemory.ts"

const disk = (levels: ReadonlyArray<boolean>) => {
  let turn = 0
  return Layer.succeed(
    Retention,
    {
      config: Effect.sync(() => ({
        disk_space: { total_bytes: 10, used_bytes: 8, free_bytes: 2, used_percent: 80, warning_level: levels[turn++] }
      }))
    } as never
  )
}

describe("the watch over the disk", () => {
  it.effect.prop(
    "tells each turn of the level once",
    [fc.array(fc.boolean(), { maxLength: 12 })],
    ([levels]) =>
      Effect.gen(function*() {
        for (const _ of levels) {
          yield* TestClock.adjust("1 minute")
          yield* watchDisk
        }
        const { items } = yield* (yield* ServiceEvents).list({ limit: 100 })
        const turns = levels.filter((level, index) => level !== (levels[index - 1] ?? false))
        const told = [...items].sort((a, b) => DateTime.distance(b.time, a.time)).map(({ type }) => type)
        assert.deepStrictEqual(
          told,
          turns.map((level) => level ? "retention.disk.warning" as const : "retention.disk.recovered" as const)
        )
      }).pipe(Effect.provide(Layer.merge(disk(levels), Layer.fresh(ServiceEventsMemory))))
  )
})
