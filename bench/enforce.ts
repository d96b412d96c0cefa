import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { DataDir } from "../src/layers/DataDir.ts"
import { EnforcerNft } from "../src/layers/nft/EnforcerNft.ts"
import { NftCommand } from "../src/layers/nft/NftCommand.ts"
import { DesiredMacsPg } from "../src/layers/postgres/DesiredMacsPg.ts"
import { migratePostgres } from "../src/layers/postgres/migrate.ts"
import { postgresClient } from "../src/layers/postgres/Postgres.ts"
import { Enforcer } from "../src/services/Enforcer.ts"
import { compare, type Result } from "./harness.ts"
import { createDatabase, type Service } from "./service.ts"

const exec = promisify(execFile)

const standing = 100_000
const changing = 1000
const mac = (index: number) => `06:${index.toString(16).padStart(10, "0").match(/../g)!.join(":")}`

const insert = (from: number, count: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const macs = Array.from({ length: count }, (_, index) => mac(from + index))
    return sql`INSERT INTO actions
        (id, type, tag, client, client_mac, status, reason, origin_kind, origin_id, created_at)
      SELECT gen_random_uuid(), 'block', '', mac, mac, 'active', 'bench', 'user', '1', now()
      FROM unnest(${macs}::text[]) AS mac`
  })
const lift = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`UPDATE actions SET status = 'removed', ended_at = now(), change = (SELECT nextval('action_changes')), synced_at = NULL
    WHERE client > ${mac(standing - 1)} AND status = 'active'`
)

/** A thousand MACs into a set of a hundred thousand and out again, beside bare nft on a set of that size. */
export const enforce = async (service: Service): Promise<ReadonlyArray<Result>> => {
  const directory = join(service.directory, "bench-enforce")
  await mkdir(directory)
  const sandbox = NftCommand.pipe(Layer.provide(Layer.succeed(DataDir, { path: directory })))
  const postgres = postgresClient(service.postgresUrl("bench_enforce"), 3)
  const live = EnforcerNft.pipe(
    Layer.provide([sandbox, DesiredMacsPg]),
    Layer.provideMerge(Layer.provideMerge(Layer.effectDiscard(migratePostgres), postgres))
  )
  const measure = Effect.gen(function*() {
    const enforcer = yield* Enforcer
    const run = yield* Effect.map(
      Effect.runtime<SqlClient.SqlClient>(),
      (runtime) => <A>(effect: Effect.Effect<A, unknown, SqlClient.SqlClient>) =>
        Effect.runPromise(Effect.provide(effect, runtime))
    )
    yield* insert(0, standing)
    yield* enforcer.pass
    const holder = Number.parseInt(yield* Effect.promise(() => readFile(join(directory, "nft", "sandbox"), "utf8")), 10)
    const file = async (name: string, commands: ReadonlyArray<object>) => {
      const path = join(directory, `${name}.json`)
      await writeFile(path, JSON.stringify({ nftables: commands }), { mode: 0o600 })
      return () => exec("nsenter", [`--net=/proc/${holder}/ns/net`, "--", "nft", "-j", "-f", path])
    }
    const at = { family: "inet", table: "bench", name: "macs" }
    const elements = (from: number, count: number) => ({
      element: { ...at, elem: Array.from({ length: count }, (_, index) => mac(from + index)) }
    })
    const [fill, add, remove] = yield* Effect.promise(() =>
      Promise.all([
        file("fill", [
          { add: { table: { family: "inet", name: "bench" } } },
          { add: { set: { ...at, type: "ether_addr", flags: ["timeout"] } } },
          { add: elements(0, standing) }
        ]),
        file("add", [{ add: elements(standing, changing) }]),
        file("remove", [{ delete: elements(standing, changing) }])
      ])
    )
    yield* Effect.promise(fill)
    const pass = { name: "pass", run: () => run(enforcer.pass) }
    const steps = (...all: ReadonlyArray<Effect.Effect<unknown, unknown, SqlClient.SqlClient>>) => () =>
      run(Effect.all(all, { discard: true }))
    const some = insert(standing, changing)
    const block = yield* Effect.promise(() =>
      compare({
        title: `${changing} MACs into a set of ${standing}`,
        ours: { ...pass, prepare: steps(lift, enforcer.pass, some) },
        peer: { name: "nft -j -f", prepare: () => remove().catch(() => undefined), run: async () => void await add() },
        target: "25 ms, never a full replace"
      })
    )
    const unblock = yield* Effect.promise(() =>
      compare({
        title: `${changing} MACs out of a set of ${standing}`,
        ours: { ...pass, prepare: steps(lift, enforcer.pass, some, enforcer.pass, lift) },
        peer: { name: "nft -j -f", prepare: add, run: async () => void await remove() },
        target: "25 ms, never a full replace"
      })
    )
    return [block, unblock]
  })
  return Effect.runPromise(
    Effect.zipRight(createDatabase(service, "bench_enforce"), Effect.provide(measure, live))
  )
}
