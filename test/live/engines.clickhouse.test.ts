import { assert, layer } from "@effect/vitest"
import { Chunk, Effect, Exit, Redacted, Stream } from "effect"
import { inject } from "vitest"
import { ClickHouse } from "../../src/layers/clickhouse/ClickHouse.ts"
import { clickHouseClient } from "../../src/layers/clickhouse/ClickHouseClient.ts"
import { ClickHouseTest } from "../support/engines.ts"

const hostile = ["'", "\\", "\\'", "' OR 1=1 --", "\t\n\r\0", "\\N", "`", "{a:String}", "é☃𝒳", "]", "\\\\'"]

layer(ClickHouseTest)("the ClickHouse client on the embedded engine", (it) => {
  it.effect("binds parameters as values, whatever they hold", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      for (const text of hostile) {
        const { rows } = yield* clickhouse.query({
          query: "SELECT {text:String} AS text, {list:Array(String)} AS list, {none:Nullable(String)} AS none",
          params: { text, list: [text, "b"], none: null }
        })
        assert.deepStrictEqual(rows, [{ text, list: [text, "b"], none: null }])
      }
    }))

  it.effect("carries parameters that don't fit a URL", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const list = Array.from({ length: 20_000 }, (_, index) => `02:00:00:00:00:${index}\n'`)
      const { rows } = yield* clickhouse.query({
        query: "SELECT {list:Array(String)} AS list",
        params: { list }
      })
      assert.deepStrictEqual(rows, [{ list }])
    }))

  it.effect("gives nothing of a failed query to the next one", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const select = "SELECT throwIf(number = 70000) AS t, repeat('x', 100) AS s FROM numbers(100000)"
      const midway = { query: select, settings: { max_block_size: "1000", max_threads: 1 } }
      const late = {
        query: "SELECT number, sleepEachRow(0.001) AS s FROM numbers(100000)",
        settings: { max_block_size: "10" },
        timeout: "300 millis"
      } as const
      const failing = [
        clickhouse.query(midway),
        clickhouse.query(late),
        Stream.runDrain(clickhouse.stream(midway)),
        Stream.runDrain(clickhouse.stream(late))
      ]
      for (const failure of failing) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(failure)))
        assert.deepStrictEqual((yield* clickhouse.query({ query: "SELECT 3 AS x" })).rows, [{ x: 3 }])
        assert.isTrue(Exit.isFailure(yield* Effect.exit(failure)))
        const streamed = yield* Stream.runCollect(clickhouse.stream({ query: "SELECT 4 AS x" }))
        assert.deepStrictEqual(Chunk.toReadonlyArray(streamed), [{ x: 4 }])
      }
    }))

  // Settings come as statements of their own and would take the rows along: only bare requests show a leak.
  it.effect("gives nothing of a failed query to the next one, bare of settings", () =>
    Effect.gen(function*() {
      const { origin, password, username } = new URL(inject("clickhouseUrl"))
      const authorization = `Basic ${btoa(`${username}:${password}`)}`
      const ask = (body: string) =>
        Effect.promise(() =>
          fetch(origin, { method: "POST", body, headers: { authorization } }).then(async (response) => ({
            code: response.headers.get("x-clickhouse-exception-code"),
            text: await response.text()
          }))
        )
      for (const format of ["JSON", "JSONCompact", "TabSeparatedRaw"]) {
        for (let round = 0; round < 3; round++) {
          const failed = yield* ask(
            `SELECT throwIf(number = 70000) AS t FROM numbers(100000) SETTINGS max_block_size = 1000 FORMAT ${format}`
          )
          assert.strictEqual(failed.code, "395")
          const next = yield* ask("SELECT 3 AS x FORMAT TabSeparatedRaw")
          assert.strictEqual(next.text.slice(0, 80), "3\n")
        }
      }
    }))

  it.effect("ends a query at its time limit", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const error = yield* Effect.flip(clickhouse.query({
        query: "SELECT count() FROM numbers(1000000000000) WHERE number % 7 = 9",
        timeout: "500 millis"
      }))
      assert.strictEqual(error.reason, "timeout")
      assert.strictEqual(error.code, "159")
    }))

  it.effect("refuses writes, settings and the outside to a read", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      for (
        const query of [
          "DROP TABLE dhcp_events",
          "INSERT INTO schema_migrations (id, name) SELECT 99, 'x'",
          "CREATE TABLE t (a UInt8) ENGINE = Memory",
          "SELECT 1 SETTINGS max_execution_time = 0",
          "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
          "INSERT INTO FUNCTION file('x.csv') SELECT 1"
        ]
      ) {
        const error = yield* Effect.flip(clickhouse.query({ query }))
        assert.strictEqual(error.reason, "rejected", query)
      }
      yield* clickhouse.query({ query: "SELECT count() FROM dhcp_events" })
    }))

  it.effect("adds an insert of one token once", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const rows = Array.from({ length: 1000 }, (_, row) => ({
        event_time: "2026-11-21 00:00:00.123",
        protocol: "dhcpv4",
        message_type: "DISCOVER",
        client: `02:00:00:00:00:${row}`,
        assigned_ip: "::ffff:192.0.2.1",
        lease_seconds: null,
        batch: 1,
        row
      }))
      yield* clickhouse.insert({ table: "dhcp_events", rows, deduplicationToken: "1" })
      yield* clickhouse.insert({ table: "dhcp_events", rows, deduplicationToken: "1" })
      const answer = yield* clickhouse.query({
        query: "SELECT row, toUInt64(9007199254740991) AS wide, event_time FROM dhcp_events ORDER BY row LIMIT 2",
        settings: { exact_rows_before_limit: 1 }
      })
      const event_time = "2026-11-21 00:00:00.123"
      assert.deepStrictEqual(answer.rows, [
        { row: 0, wide: 9007199254740991, event_time },
        { row: 1, wide: 9007199254740991, event_time }
      ])
      assert.strictEqual(answer.rowsBeforeLimit, 1000)
      assert.isAtLeast(answer.rowsRead, 1000)
      assert.isAbove(answer.elapsedMs, 0)
    }))

  it.effect("refuses a batch with a bad row as a whole", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      yield* clickhouse.command({ query: "CREATE TABLE whole (a UInt32) ENGINE = MergeTree ORDER BY a" })
      const error = yield* Effect.flip(clickhouse.insert({ table: "whole", rows: [{ a: 1 }, { a: "x" }] }))
      assert.strictEqual(error.reason, "rejected")
      const { rows } = yield* clickhouse.query({ query: "SELECT count() AS n FROM whole" })
      assert.deepStrictEqual(rows, [{ n: 0 }])
    }))

  it.effect("streams more rows than it keeps", () =>
    Effect.gen(function*() {
      const clickhouse = yield* ClickHouse
      const query = "SELECT number AS n, toString(number) AS s FROM numbers(200000)"
      const count = yield* Stream.runFold(clickhouse.stream({ query }), 0, (total) => total + 1)
      assert.strictEqual(count, 200_000)
      const first = yield* Stream.runCollect(Stream.take(clickhouse.stream({ query }), 2))
      assert.deepStrictEqual(Chunk.toReadonlyArray(first), [{ n: 0, s: "0" }, { n: 1, s: "1" }])
    }))

  it.scoped("refuses a wrong password and tells what is missing", () =>
    Effect.gen(function*() {
      const url = new URL(inject("clickhouseUrl"))
      const known = yield* clickHouseClient(Redacted.make(url.href), "nowhere")
      assert.strictEqual((yield* Effect.flip(known.query({ query: "SELECT 1" }))).code, "81")
      yield* known.ping
      url.password = "wrong"
      const stranger = yield* clickHouseClient(Redacted.make(url.href), "default")
      assert.strictEqual((yield* Effect.flip(stranger.ping)).code, "516")
      url.port = "1"
      const nobody = yield* clickHouseClient(Redacted.make(url.href), "default")
      const error = yield* Effect.flip(nobody.ping)
      assert.strictEqual(error.reason, "unreachable")
      assert.strictEqual(error.code, "ECONNREFUSED")
    }))

  it.effect("answers compressed to who asks for it, and takes compressed inserts", () =>
    Effect.gen(function*() {
      const { createClient } = yield* Effect.promise(() => import("@clickhouse/client"))
      const { database } = yield* ClickHouse
      const client = createClient({
        url: inject("clickhouseUrl"),
        database,
        compression: { request: true, response: true }
      })
      yield* Effect.promise(async () => {
        await client.command({ query: "CREATE TABLE zipped (a String) ENGINE = MergeTree ORDER BY a" })
        await client.insert({ table: "zipped", values: [{ a: "x".repeat(10_000) }], format: "JSONEachRow" })
        const answer = await client.query({ query: "SELECT length(a) AS n FROM zipped", format: "JSON" })
        assert.strictEqual(answer.response_headers["content-encoding"], "gzip")
        assert.deepStrictEqual((await answer.json()).data, [{ n: 10_000 }])
        await client.close()
      })
    }))
})
