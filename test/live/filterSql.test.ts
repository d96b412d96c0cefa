import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Schema } from "effect"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { dhcpEventColumns } from "../../src/layers/clickhouse/DhcpEventColumns.ts"
import { type DhcpEventRow, fromRow, toRow } from "../../src/layers/clickhouse/DhcpEventRow.ts"
import { compileFilterSql } from "../../src/layers/clickhouse/FilterSql.ts"
import { makeSqlParams } from "../../src/layers/clickhouse/SqlParams.ts"
import type { DhcpEvent } from "../../src/schema/DhcpEvent.ts"
import type { FilterJson } from "../../src/schema/Filter.ts"
import { DhcpEventFilter } from "../../src/schema/FilterFields.ts"
import { filterLimits } from "../../src/schema/FilterOps.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import { dhcpEvent } from "../support/arbitraries/dhcpEvent.ts"
import { filterJson, ruleJson } from "../support/arbitraries/filter.ts"
import { ClickHouseTest } from "../support/engines.ts"

const decode = Schema.decodeUnknownSync(DhcpEventFilter)
const events: ReadonlyArray<DhcpEvent> = fc.sample(dhcpEvent, { numRuns: 400, seed: 20_261_121 })

const where = (json: FilterJson) => {
  const params = makeSqlParams()
  return { sql: compileFilterSql(decode(json), dhcpEventColumns, params), params: params.values }
}

const matchedBySql = (json: FilterJson) =>
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse
    const { params, sql } = where(json)
    const { rows } = yield* clickhouse.query({ query: `SELECT row FROM dhcp_events WHERE ${sql} ORDER BY row`, params })
    return Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ row: Schema.Int })))(rows).map(({ row }) => row)
  })

const matchedInMemory = (json: FilterJson): Array<number> => {
  const matches = compileDhcpEventPredicate(decode(json))
  return events.flatMap((event, row) => matches(event) ? [row] : [])
}

const same = (json: FilterJson) =>
  Effect.map(matchedBySql(json), (rows) => assert.deepStrictEqual(rows, matchedInMemory(json)))

const Events = Layer.effectDiscard(
  Effect.flatMap(
    ClickHouse,
    (clickhouse) => clickhouse.insert({ table: "dhcp_events", rows: events.map((event, row) => toRow(event, 7, row)) })
  )
).pipe(Layer.provideMerge(ClickHouseTest))

layer(Events, { timeout: "2 minutes" })("filters on the real engine", (it) => {
  it.effect("gives the events back as they were, what is empty or unspecified left out", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const { rows } = yield* clickhouse.query({ query: "SELECT * FROM dhcp_events ORDER BY row" })
      const read = (rows as ReadonlyArray<DhcpEventRow>).map(fromRow)
      const kept = events.map((event) =>
        Object.fromEntries(Object.entries(event).filter(([, value]) => !["", "::", "0.0.0.0"].includes(String(value))))
      )
      assert.deepStrictEqual(read.map(({ event }) => event), kept as unknown as Array<DhcpEvent>)
      assert.deepStrictEqual(read.map(({ row }) => row), events.map((_, row) => row))
      assert.isTrue(read.every(({ batch }) => batch === 7))
    }))

  it.effect.prop(
    "matches by SQL what the predicate matches, rule by rule",
    [ruleJson],
    ([rule]) => same({ rules: [rule] }),
    { fastCheck: { numRuns: 300 } }
  )

  it.effect.prop("matches by SQL what the predicate matches, in nested groups", [filterJson], ([json]) => same(json), {
    fastCheck: { numRuns: 200 }
  })

  it.effect("takes the largest lists and the largest regular expressions", () =>
    Effect.gen(function*() {
      const values = events.map((event) => event.hostname).filter((name) => name !== undefined && name !== "")
      const many = Array.from({ length: filterLimits.values }, (_, i) => values[i] ?? `${"é'\\".repeat(30)}${i}`)
      yield* same({ rules: [{ field: "hostname", op: "in", values: many }] })
      const largest = filterLimits.regexProgram - 2
      const scattered = Array.from({ length: 115 }, (_, i) => String.fromCodePoint(0x10000 + i * 0x2345)).join("")
      for (const set of [`[${scattered}]`, `[^${scattered}]`, "(?i)[^b-y]", "[^\\w]", "."]) {
        yield* same({ rules: [{ field: "hostname", op: "regex", value: `^${set}{0,${Math.floor(largest / 3)}}b` }] })
        yield* same({ rules: [{ field: "hostname", op: "regex", value: `${set}{${largest}}` }] })
      }
    }))

  it("keeps the values out of the text of the statement", () => {
    fc.assert(fc.property(filterJson, (json) => {
      const { sql } = where(json)
      assert.match(sql, /^[a-zA-Z0-9_():{}' ,.<>=!]*$/)
      const strings = sql.match(/'[^']*'/g) ?? []
      const constants = ["''", "'::'", "'UTC'", "'::ffff:0.0.0.0'", "'::ffff:255.255.255.255'"]
      assert.isTrue(strings.every((constant) => constants.includes(constant)), sql)
    }))
  })
})
