import { assert } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, Random, Redacted, Schedule } from "effect"
import { readFileSync } from "node:fs"
import { FirewallConfigsPg } from "../../src/layers/postgres/FirewallConfigsPg.ts"
import { migratePostgres, withMigrationLock } from "../../src/layers/postgres/migrate.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { FirewallConfigId } from "../../src/schema/FirewallConfig.ts"
import { Username } from "../../src/schema/User.ts"
import { checksumOf } from "../../src/services/firewall/checksum.ts"
import { tablesOf } from "../../src/services/firewall/commands.ts"
import { FirewallConfigs } from "../../src/services/FirewallConfigs.ts"
import { Nft } from "../../src/services/Nft.ts"
import { Users } from "../../src/services/Users.ts"
import { bigDraft } from "../support/bigRuleset.ts"
import { startChild } from "../support/childProcess.ts"
import { freshDatabase } from "../support/engines.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const id = FirewallConfigId.make("00000000-0000-4000-8000-000000000001")

/** The one network of all elements and rules that the kernel has; of a mixture, or of too few, there is no such thing. */
const networkIn = (listed: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
  const set = listed.find((object) => "set" in object)?.["set"] as { readonly elem?: ReadonlyArray<string> } | undefined
  const elements = set?.elem ?? []
  const networks = new Set([networkOfRules(listed), ...elements.map((element) => element.split(".")[0])])
  return networks.size === 1 && elements.length === 10_000 ? elements[0]!.split(".")[0] : undefined
}

const networkOfRules = (listed: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  /"(\d+)\.1\.0\.1"/.exec(JSON.stringify(listed.filter((object) => "rule" in object)))?.[1]

/** The nft processes of a node that apply or check. */
const nftOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, "latin1").includes("/input-")
    } catch {
      return false
    }
  })

const stores = (path: string, url: string) =>
  Layer.mergeAll(UsersPg, FirewallConfigsPg).pipe(
    Layer.provide(Layer.provideMerge(
      Layer.effectDiscard(withMigrationLock(migratePostgres)),
      postgresClient(Redacted.make(url), 3)
    )),
    Layer.merge(nftIn(path)),
    Layer.orDie
  )

const create = Effect.gen(function*() {
  const [configs, users] = yield* Effect.all([FirewallConfigs, Users])
  const user = { username: Username.make("a"), role: "admin", passwordHash: Redacted.make("-") } as const
  const { id: by } = yield* users.create(user)
  const draft = bigDraft(0)
  const [checksum, tables] = [checksumOf(draft.ruleset), tablesOf(draft.ruleset.nftables)]
  yield* configs.create(id, { draft, checksum, tables, by, at: yield* DateTime.now })
})

/** Waits until the store says what the kernel has; the milliseconds that it took. */
const agreement = Effect.gen(function*() {
  const [configs, nft] = yield* Effect.all([FirewallConfigs, Nft])
  const agree = Effect.gen(function*() {
    const { applied, intent } = yield* configs.standing(id)
    if (intent !== null || applied.version === null) return false
    const { comment } = yield* configs.revision(id, applied.version)
    return comment === networkIn(yield* nft.list)
  })
  const [taken] = yield* Effect.timed(
    Effect.repeat(agree, { until: (agreed) => agreed, schedule: Schedule.spaced("20 millis") })
  )
  return Duration.toMillis(taken)
}).pipe(Effect.timeout("20 seconds"))

/** Kills a node that applies 10 000 elements all the time, or its nft alone, at random moments. */
export const kills = (count: number) =>
  Effect.gen(function*() {
    const [path, url] = yield* Effect.all([dataDir, freshDatabase])
    const start = Effect.gen(function*() {
      const node = yield* startChild("firewallNode.ts", {}, { args: [path, url, id] })
      yield* Effect.sync(() => node.output()).pipe(
        Effect.filterOrFail((output) => output.includes("READY")),
        Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 3_000 })
      )
      return node
    })
    yield* Effect.gen(function*() {
      yield* create
      const nft = yield* Nft
      const tally = { service: 0, nft: 0, cut: 0, slowest: 0 }
      let node = yield* start
      for (let round = 0; round < count; round++) {
        const before = networkOfRules(yield* nft.structure)
        node.process.kill("SIGUSR2")
        // Elements that are listed while they change are anything; rules tell that it works.
        yield* Effect.repeat(nft.structure, { until: (objects) => networkOfRules(objects) !== before })
        const child = node.process.pid!
        yield* Effect.repeat(Effect.sleep("1 millis"), { until: () => nftOf(child).length > 0 })
        yield* Effect.sleep(Duration.millis(yield* Random.nextIntBetween(0, 80)))
        const running = nftOf(child)
        if (running.length > 0) tally.cut++
        if (round % 3 === 2) {
          tally.nft++
          node.process.kill("SIGHUP")
          for (const pid of running) process.kill(pid, "SIGKILL")
        } else {
          tally.service++
          yield* node.kill("SIGKILL")
          assert.isDefined(networkIn(yield* nft.list), "neither the old nor the new ruleset")
          node = yield* start
        }
        tally.slowest = Math.max(tally.slowest, yield* agreement)
        assert.isAtMost(tally.slowest, 5_000)
      }
      yield* Effect.logWarning(`${count} kills`, tally)
    }).pipe(Effect.provide(stores(path, url)))
  })
