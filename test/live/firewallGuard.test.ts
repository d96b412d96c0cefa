import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Schedule } from "effect"
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DataDir } from "../../src/layers/DataDir.ts"
import { guardProcess } from "../../src/layers/nft/GuardProcess.ts"
import { NftCommand } from "../../src/layers/nft/NftCommand.ts"
import { NftPlaceLive } from "../../src/layers/nft/NftPlace.ts"
import { FirewallGuard } from "../../src/services/FirewallGuard.ts"
import { Nft } from "../../src/services/Nft.ts"
import { firewallGuardContract } from "../contract/FirewallGuard.ts"
import { liveSuite } from "../support/live.ts"
import { dataDir } from "./nftSandbox.ts"

/** Guards and nft of a data directory, with a directory that leads the search path. */
const guardsIn = (path: string, options: { readonly systemd: boolean; readonly tools?: string }) =>
  Layer.merge(NftCommand, Layer.provide(guardProcess(options.systemd), NftPlaceLive)).pipe(
    Layer.provide(Layer.succeed(DataDir, { path })),
    Layer.provide(Layer.setConfigProvider(
      ConfigProvider.fromMap(new Map([["PATH", `${options.tools ?? "/bin"}:${process.env["PATH"] ?? ""}`]]))
    ))
  )

const restore = [[{ add: { table: { family: "inet", name: "restored" } } }]]

/** Ends the process of a guard as a kill of everything would. */
const kill = (guard: string) =>
  Effect.sync(() => process.kill(Number(readFileSync(join(guard, "armed"), "utf8")), "SIGKILL"))

liveSuite("the guard process", ["nft", "unshare", "nsenter"], () => {
  firewallGuardContract(
    "a process",
    Layer.unwrapScoped(Effect.map(dataDir, (path) => guardsIn(path, { systemd: false })))
  )

  it.scopedLive("watches again after it was killed, and restores what is overdue", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      yield* Effect.gen(function*() {
        const [guards, nft] = yield* Effect.all([FirewallGuard, Nft])
        const [soon, late, reboot] = [yield* guards.name, yield* guards.name, yield* guards.name]
        yield* guards.arm(soon, { restore, seconds: 1 })
        yield* guards.arm(late, { restore, seconds: 600 })
        yield* guards.arm(reboot, { restore, seconds: 600 })
        for (const guard of [soon, late, reboot]) yield* kill(guard)
        yield* Effect.sleep("1200 millis")
        assert.strictEqual((yield* guards.state(soon)).kind, "pending")
        assert.deepStrictEqual(yield* nft.list, [])
        assert.strictEqual((yield* guards.revive(soon)).kind, "restored")
        assert.include(JSON.stringify(yield* nft.list), "restored")
        assert.strictEqual((yield* guards.revive(late)).kind, "pending")
        // What was pending before a reboot is overdue after it.
        writeFileSync(join(reboot, "boot"), "another")
        assert.strictEqual((yield* guards.revive(reboot)).kind, "restored")
        yield* guards.confirm(late)
        rmSync(soon, { recursive: true })
        assert.strictEqual((yield* guards.state(soon)).kind, "lost")
      }).pipe(Effect.provide(guardsIn(path, { systemd: false })))
    }))

  it.scopedLive("is a transient service of its own where systemd runs", () =>
    Effect.gen(function*() {
      const path = yield* dataDir
      const tools = join(path, "tools")
      mkdirSync(tools)
      // As systemd-run: the program is a child of somebody else, with the environment that it is told.
      writeFileSync(
        join(tools, "systemd-run"),
        `#!/bin/sh
echo "$*" > ${path}/told
while [ "\${1#--}" != "$1" ]; do case $1 in --setenv=*) export "\${1#--setenv=}";; esac; shift; done
setsid "$@" < /dev/null > /dev/null 2>&1 &
`
      )
      chmodSync(join(tools, "systemd-run"), 0o755)
      yield* Effect.gen(function*() {
        const [guards, nft] = yield* Effect.all([FirewallGuard, Nft])
        const guard = yield* guards.name
        yield* guards.arm(guard, { restore, seconds: 1 })
        assert.isTrue(existsSync(join(path, "told")))
        assert.match(readFileSync(join(path, "told"), "utf8"), /^--quiet --collect --unit=netops-guard-[0-9a-f-]{36} /)
        yield* guards.state(guard).pipe(
          Effect.repeat({ until: ({ kind }) => kind === "restored", schedule: Schedule.spaced("50 millis") }),
          Effect.timeout("20 seconds")
        )
        assert.include(JSON.stringify(yield* nft.list), "restored")
      }).pipe(Effect.provide(guardsIn(path, { systemd: true, tools })))
    }))
})
