import { assert, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, FastCheck as fc, Layer, Logger } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { Nft } from "../../src/services/Nft.ts"
import { liveSuite } from "../support/live.ts"
import { dataDir, nftIn } from "./nftSandbox.ts"

const table = (name: string): NftCommandObject => ({ add: { table: { family: "inet", name } } })

/** Settings under which `tool` is this script. */
const faked = (path: string, tool: string, script: string) => {
  const bin = join(path, "bin")
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, tool), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { PATH: `${bin}:${process.env["PATH"]}` }
}

/** A start with these settings: its failure, or what `list` answers, and the warnings logged. */
const startWith = (path: string, settings: Record<string, string>) =>
  Effect.gen(function*() {
    const warnings: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel._tag === "Warning") warnings.push(String(message))
    })
    const listed = yield* Effect.exit(
      Effect.flatMap(Nft, (nft) => Effect.either(nft.list)).pipe(
        Effect.provide(nftIn(path, settings)),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
    )
    return { listed, warnings }
  })

const startFailure = (path: string, settings: Record<string, string>) =>
  Effect.map(
    startWith(path, settings),
    ({ listed }) => Exit.isFailure(listed) ? String(Cause.squash(listed.cause)) : assert.fail("started")
  )

/** The packet filter for as long as the test's scope. */
const within = <E>(layer: Layer.Layer<Nft, E>) => Effect.map(Layer.build(layer), Context.get(Nft))

const withoutNamespaces = "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1"

liveSuite("nft when things go wrong", ["nft", "unshare", "nsenter", "ip", "mkfifo"], () => {
  it.scopedLive("starts without namespaces when no target is named, and says so once", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const { listed, warnings } = yield* startWith(path, faked(path, "unshare", withoutNamespaces))
      assert.include(JSON.stringify(listed), "unshare failed: Operation not permitted")
      assert.isTrue(Exit.isSuccess(listed))
      assert.strictEqual(warnings.length, 1)
      assert.match(warnings[0] ?? "", /^nft: unavailable, no sandbox network namespace: unshare: [^\n]*$/)
    }))

  it.scopedLive("doesn't start on a named target that can't work, and says what is missing", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const broken = { ...faked(path, "unshare", withoutNamespaces), NETOPS_NFT_TARGET: "sandbox" }
      assert.include(yield* startFailure(path, broken), "Operation not permitted")
      const absent = yield* startFailure(path, { NETOPS_NFT_TARGET: "netns:absent" })
      assert.include(absent, "needs the network namespace /run/netns/absent")
      for (const name of ["netns:../../etc", "netns:", "netns:..", "hosts", "netns:a b"]) {
        assert.include(yield* startFailure(path, { NETOPS_NFT_TARGET: name }), "none of sandbox, host and netns:NAME")
      }
    }))

  it.scopedLive("acts in the network namespace that is named, and only there", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const name = `netops-test-${process.pid}`
      yield* Effect.acquireRelease(
        Effect.sync(() => assert.strictEqual(spawnSync("ip", ["netns", "add", name]).status, 0)),
        () => Effect.sync(() => spawnSync("ip", ["netns", "delete", name]))
      )
      yield* Effect.flatMap(Nft, (nft) => nft.apply([table("there")])).pipe(
        Effect.provide(nftIn(path, { NETOPS_NFT_TARGET: `netns:${name}` }))
      )
      const inside = spawnSync("ip", ["netns", "exec", name, "nft", "list", "ruleset"], { encoding: "utf8" })
      assert.include(inside.stdout, "table inet there")
      assert.notInclude(spawnSync("nft", ["list", "ruleset"], { encoding: "utf8" }).stdout, "there")
      assert.isFalse(existsSync(join(path, "nft")))
    }))

  it.scopedLive("a call ends at its time limit when nft hangs", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const settings = { ...faked(path, "nft", "exec sleep 60"), NETOPS_NFT_TIMEOUT: "500 millis" }
      const { listed } = yield* startWith(path, settings)
      assert.include(JSON.stringify(listed), "did not answer within 500ms")
    }).pipe(Effect.timeout("10 seconds")))

  it.scopedLive("hostile names reach no shell and no file", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const marker = join(path, "marker")
      const pipe = join(path, "pipe")
      // Whoever opens the pipe for reading hangs until the time limit.
      assert.strictEqual(spawnSync("mkfifo", [pipe]).status, 0)
      const include = `" ; include "${pipe}" ; "`
      const hostile = [`$(touch ${marker})`, `\`touch ${marker}\``, `; touch ${marker} #`, `| touch ${marker}`, include]
      const nft = yield* within(nftIn(path, { NETOPS_NFT_TIMEOUT: "3 seconds" }))
      for (const name of hostile) {
        for (const spoilt of [name, `\0${name}`, `\ud800${name}`, `\\${name}`, `\0\\${name}`, `\n${name}\n`]) {
          const error = yield* Effect.flip(nft.apply([table(spoilt), { delete: { table: { name: "absent" } } }]))
          assert.strictEqual(error._tag, "Nft/Rejected", `${JSON.stringify(spoilt)}: ${error.message}`)
          assert.notInclude(error.message, "input.json")
        }
      }
      assert.isFalse(existsSync(marker))
      assert.deepStrictEqual(yield* nft.list, [])
    }))

  it.scopedLive("any JSON is accepted or refused, never more", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const nft = yield* within(nftIn(path))
      const deep = Array.from({ length: 5_000 }).reduce<unknown>((inner) => [inner], null)
      const long = "x".repeat(2 * 1024 * 1024)
      const odd: Array<NftCommandObject> = [table(long), { add: deep }, { add: { element: { elem: deep } } }, {}]
      const random = fc.sample(fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<unknown>), 40)
      for (const command of [...odd, ...random]) {
        const error = yield* Effect.flip(nft.check([command]))
        assert.strictEqual(error._tag, "Nft/Rejected", error.message.slice(0, 200))
        assert.isBelow(error.message.length, 11_000)
      }
    }))

  it.scopedLive("takes a set of 10 000 elements", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const nft = yield* within(nftIn(path))
      const elem = Array.from({ length: 10_000 }, (_, n) => `10.1.${n >> 8}.${n & 255}`)
      yield* nft.apply([table("t"), {
        add: { set: { family: "inet", table: "t", name: "s", type: "ipv4_addr", elem } }
      }])
      const set = (yield* nft.list).find((object) => "set" in object)?.["set"]
      assert.deepStrictEqual((set as { readonly elem: unknown }).elem, elem)
    }))
})
