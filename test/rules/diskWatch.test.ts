import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer } from "effect"
import { Alarms } from "../../src/services/Alarms.ts"
import { diskSpace } from "../../src/services/diskSpace.ts"
import { watchDisk } from "../../src/services/DiskWatch.ts"
import { Retention } from "../../src/services/Retention.ts"
import { AlarmsMemory } from "../layers/AlarmsMemory.ts"
import { RetentionMemory } from "../layers/RetentionMemory.ts"
import { EventsState, ServiceEventsMemory } from "../layers/ServiceEventsMemory.ts"
import { UnitOfWorkMemory } from "../layers/UnitOfWorkMemory.ts"

const disk = 1000

/** Looks at a disk of 1000 bytes with so much used, one after the other, and gives what was told and what is open. */
const watch = (useds: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const retention = yield* Retention
    const alarms = yield* Alarms
    const open: Array<number> = []
    for (const used of useds) {
      yield* watchDisk.pipe(
        Effect.provideService(Retention, {
          ...retention,
          config: Effect.map(retention.config, (config) => ({ ...config, disk_space: diskSpace(disk, disk - used) }))
        })
      )
      const { items } = yield* alarms.list({ limit: 100, status: "firing" })
      open.push(items.length)
    }
    const { items: all } = yield* alarms.list({ limit: 100 })
    const told = (yield* EventsState).map((event) => ({
      warning: event?.type === "retention.disk.warning",
      used_percent: (event?.data as { readonly used_percent?: number }).used_percent
    }))
    return { told, open, all }
  }).pipe(
    Effect.provide(Layer.fresh(Layer.mergeAll(RetentionMemory, AlarmsMemory, UnitOfWorkMemory, ServiceEventsMemory)))
  )

describe("the watch over the disk", () => {
  it.effect("opens one alarm where the disk is about full, and resolves it when there is clearly room", () =>
    Effect.gen(function*() {
      const { all, open, told } = yield* watch([790, 800, 999, 790, 781, 780, 790, 800])
      assert.deepStrictEqual(open, [0, 1, 1, 1, 1, 0, 0, 1])
      assert.deepStrictEqual(told.map(({ used_percent, warning }) => [warning, used_percent]), [
        [true, 80],
        [false, 78],
        [true, 80]
      ])
      assert.strictEqual(all.length, 2)
      const [first] = all.filter(({ status }) => status === "resolved")
      assert.strictEqual(first!.count, 4)
      assert.strictEqual(first!.comment, "80 % of 1000.00 B used")
      assert.deepStrictEqual([first!.kind, first!.rule_id, first!.client, first!.protocol], [
        "disk",
        null,
        "clickhouse",
        null
      ])
    }))

  it.effect.prop(
    "tells of openings and ends in turn, and an alarm is open after the one and not after the other",
    [fc.array(fc.integer({ min: 750, max: 850 }), { maxLength: 30 })],
    ([useds]) =>
      Effect.gen(function*() {
        const { open, told } = yield* watch(useds)
        assert.deepStrictEqual(told.map(({ warning }) => warning), told.map((_, index) => index % 2 === 0))
        assert.strictEqual(open.at(-1) ?? 0, told.length % 2)
        useds.forEach((used, index) => {
          if (used >= 800) assert.strictEqual(open[index], 1)
          if (used <= 780) assert.strictEqual(open[index], 0)
        })
      })
  )
})
