import { assert, it } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { Nft } from "../../src/services/Nft.ts"
import { liveSuite } from "../support/live.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const table = (name: string): NftCommandObject => ({ add: { table: { family: "inet", name } } })

const using = <A, E, EL>(layer: Layer.Layer<Nft, EL>, use: (nft: Nft["Type"]) => Effect.Effect<A, E>) =>
  Effect.provide(Effect.flatMap(Nft, use), layer)

const holderOf = (path: string) => Number.parseInt(readFileSync(join(path, "nft", "sandbox"), "utf8"), 10)
const isAlive = (pid: number) => existsSync(`/proc/${pid}/ns/net`)
const hostRuleset = () => spawnSync("nft", ["list", "ruleset"], { encoding: "utf8" }).stdout
const inputFiles = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`netops-nft-${process.pid}-`))

const live = (name: string, test: Effect.Effect<void, unknown, Scope.Scope>) => it.scopedLive(name, () => test)

liveSuite("the nft sandbox", ["nft", "unshare", "nsenter"], () => {
  live(
    "keeps its ruleset over a graceful restart and a kill -9 of its owner",
    Effect.gen(function*() {
      const path = yield* dataDir
      yield* Effect.async<void>((resume) => {
        const owner = spawn("npx", ["vite-node", "test/live/nftOwner.ts", path], {
          detached: true,
          stdio: ["ignore", "pipe", "inherit"]
        })
        owner.stdout.on("data", (text) => String(text).includes("READY") && process.kill(-owner.pid!, "SIGKILL"))
        owner.on("close", () => resume(Effect.void))
      })
      const holder = holderOf(path)
      for (const _ of ["after the kill", "after a graceful stop"]) {
        const objects = yield* using(nftIn(path), (nft) => nft.list)
        assert.include(JSON.stringify(objects), "\"kept\"")
        assert.strictEqual(holderOf(path), holder)
      }
    })
  )

  live(
    "is made anew, and empty, when its holder died; a stranger with the holder's pid isn't taken for it",
    Effect.gen(function*() {
      const path = yield* dataDir
      yield* using(nftIn(path), (nft) =>
        Effect.gen(function*() {
          yield* nft.apply([table("lost")])
          const first = holderOf(path)
          process.kill(first, "SIGKILL")
          assert.deepStrictEqual(yield* nft.list, [])
          assert.notStrictEqual(holderOf(path), first)
          const second = holderOf(path)
          const record = join(path, "nft", "sandbox")
          writeFileSync(record, readFileSync(record, "utf8").replace(String(second), String(process.pid)))
          yield* nft.apply([table("safe")])
          assert.notStrictEqual(holderOf(path), process.pid)
        }))
      assert.notInclude(hostRuleset(), "safe")
    })
  )

  live(
    "ends within seconds of its data directory",
    Effect.gen(function*() {
      const path = yield* dataDir
      yield* using(nftIn(path), (nft) => nft.probe)
      const holder = holderOf(path)
      assert.isTrue(isAlive(holder))
      rmSync(path, { recursive: true })
      yield* Effect.sleep("5 seconds")
      assert.isFalse(isAlive(holder))
    })
  )

  live(
    "leaves the host's ruleset and its own input files alone",
    Effect.gen(function*() {
      const path = yield* dataDir
      const [before, files] = [hostRuleset(), inputFiles()]
      yield* using(nftIn(path), (nft) =>
        Effect.gen(function*() {
          yield* nft.apply([table("inside")])
          yield* Effect.flip(nft.apply([{ delete: { table: { family: "inet", name: "absent" } } }]))
          assert.include(yield* nft.listText, "inside")
        }))
      assert.strictEqual(hostRuleset(), before)
      assert.deepStrictEqual(inputFiles(), files)
    })
  )

  live(
    "concurrent transactions and checks all get their own verdict",
    Effect.gen(function*() {
      const path = yield* dataDir
      yield* using(nftIn(path), (nft) =>
        Effect.gen(function*() {
          const names = Array.from({ length: 20 }, (_, n) => `t${n}`)
          const absent = { delete: { table: { family: "inet", name: "absent" } } }
          yield* Effect.forEach(names, (name) =>
            Effect.all([
              nft.apply([table(name)]),
              nft.check([table(`checked-${name}`)]),
              Effect.flip(nft.check([table(name), absent])),
              nft.list
            ], { concurrency: "unbounded" }), { concurrency: "unbounded" })
          const tables = (yield* nft.list).map(({ table }) => (table as { readonly name: string }).name)
          assert.sameMembers(tables, names)
        }))
    })
  )

  live(
    "one namespace for two owners that start at once on one data directory",
    Effect.gen(function*() {
      const path = yield* dataDir
      const owners = ["a", "b", "c", "d"]
      yield* Effect.forEach(owners, (name) => using(nftIn(path), (nft) => nft.apply([table(name)])), {
        concurrency: "unbounded"
      })
      const text = yield* using(nftIn(path), (nft) => nft.listText)
      for (const name of owners) assert.include(text, `table inet ${name} `)
    })
  )
})
