import { DateTime, Effect, Layer, Option, Schedule } from "effect"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import type { NftCommandObject } from "../../schema/Nftables.ts"
import { FirewallGuard, type GuardState, GuardUnavailable } from "../../services/FirewallGuard.ts"
import { commandLine } from "../processes.ts"
import { guardScript } from "./guardScript.ts"
import { NftPlace, NftPlaceLive } from "./NftPlace.ts"
import { toolEnvironment } from "./runTool.ts"
import { encodeTransaction } from "./transaction.ts"

const unavailable = (reason: string) => new GuardUnavailable({ reason })

const attempt = <A>(evaluate: () => Promise<A>) =>
  Effect.tryPromise({ try: evaluate, catch: (error) => unavailable(`the guard's files: ${(error as Error).message}`) })

/** Hundredths of a second since boot, as the guard counts them. */
const uptime = Effect.map(
  attempt(() => fs.readFile("/proc/uptime", "utf8")),
  (text) => Math.round(Number(text.split(" ")[0]) * 100)
)

const bootId = attempt(() => fs.readFile("/proc/sys/kernel/random/boot_id", "utf8"))

interface Found {
  readonly kind: GuardState["kind"]
  readonly file: string
}
const lost: Found = { kind: "lost", file: "" }

const decided = (kind: GuardState["kind"]) => !["pending", "restoring"].includes(kind)

/** What the names in the directory say; the guard and we only ever rename one file. */
const stateOf = (names: ReadonlyArray<string>): Found | undefined => {
  for (const kind of ["confirmed", "restored", "failed", "restoring"] as const) {
    if (names.includes(kind)) return { kind, file: kind }
  }
  const file = names.find((name) => name.startsWith("pending."))
  return file === undefined ? undefined : { kind: "pending", file }
}

const make = (systemdRuns: boolean) =>
  Effect.gen(function*() {
    const { options, target } = yield* NftPlace
    const root = join(options.dataDir, "nft", "guards")

    /** The names in a guard's directory, null where it is gone. */
    const list = (guard: string) =>
      Effect.tryPromise({
        try: () => fs.readdir(guard),
        catch: (error) => error as NodeJS.ErrnoException
      }).pipe(
        Effect.catchAll(({ code, message }) => {
          if (code !== "ENOENT") return unavailable(`the guard's files: ${message}`)
          return dirname(guard) === root ? Effect.succeed(null) : unavailable("the guard is on another node")
        })
      )

    const read = (guard: string) =>
      list(guard).pipe(
        Effect.map((names) => names === null ? lost : stateOf(names)),
        // A listing may miss a file that is being renamed.
        Effect.repeat({ until: (found) => found !== undefined, times: 2 }),
        Effect.map((found) => found ?? lost)
      )

    const describe = ({ file, kind }: { readonly kind: GuardState["kind"]; readonly file: string }) =>
      kind !== "pending" ? Effect.succeed<GuardState>({ kind }) : Effect.gen(function*() {
        const left = Number(file.slice("pending.".length)) - (yield* uptime)
        return { kind, deadline: DateTime.add(yield* DateTime.now, { millis: left * 10 }) } satisfies GuardState
      })

    const state = (guard: string) => Effect.flatMap(read(guard), describe)

    /** Moves the one file from the state that was seen; who comes second fails and looks again. */
    const move = (guard: string, from: string, to: string) =>
      attempt(() => fs.rename(join(guard, from), join(guard, to))).pipe(
        Effect.as(true),
        Effect.orElseSucceed(() => false)
      )

    const change = (guard: string, to: Effect.Effect<string, GuardUnavailable>) =>
      Effect.gen(function*() {
        const found = yield* read(guard)
        if (found.kind !== "pending") return found.kind
        return (yield* move(guard, found.file, yield* to)) ? "moved" as const : undefined
      }).pipe(Effect.repeat({ while: (result) => result === undefined, times: 20 }))

    const launch = (guard: string) =>
      Effect.gen(function*() {
        const enter = yield* Effect.mapError(target.enter, ({ reason }) => unavailable(reason))
        const script = ["sh", "-c", guardScript, "netops-guard", guard, ...enter, "nft"]
        const unit = [
          "--quiet",
          "--collect",
          `--unit=netops-guard-${guard.slice(-36)}`,
          `--setenv=PATH=${options.path}`
        ]
        // A service of systemd's own isn't in our control group, which a stop of ours ends whole.
        const [file = "sh", ...args] = systemdRuns ? ["systemd-run", ...unit, ...script] : script
        yield* attempt(() => fs.rm(join(guard, "armed"), { force: true }))
        const child = spawn(file, args, {
          cwd: "/",
          detached: true,
          env: toolEnvironment(options.path),
          stdio: "ignore"
        })
        child.on("error", () => undefined)
        child.unref()
        yield* attempt(() => fs.access(join(guard, "armed"))).pipe(
          Effect.retry({ schedule: Schedule.spaced("5 millis"), times: 600 }),
          Effect.mapError(() => unavailable("the guard did not start"))
        )
      })

    const isAlive = (guard: string) =>
      attempt(() => fs.readFile(join(guard, "armed"), "utf8")).pipe(
        Effect.flatMap((pid) => commandLine(Number(pid))),
        Effect.map(Option.exists((line) => line.includes(guard))),
        Effect.orElseSucceed(() => false)
      )

    const settled = (guard: string) =>
      state(guard).pipe(
        Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: ({ kind }) => decided(kind), times: 2_000 }),
        Effect.zipRight(state(guard))
      )

    const arm: FirewallGuard["Type"]["arm"] = Effect.fn("FirewallGuard.arm")(function*(guard, { restore, seconds }) {
      yield* attempt(() => fs.mkdir(guard, { recursive: true, mode: 0o700 }))
      const encode = (commands: ReadonlyArray<NftCommandObject>) =>
        Effect.mapError(encodeTransaction(commands), ({ message }) => unavailable(message))
      for (const [index, commands] of restore.entries()) {
        const text = yield* encode(commands)
        yield* attempt(() => fs.writeFile(join(guard, `restore.${index + 1}.json`), text, { mode: 0o600 }))
      }
      const boot = yield* bootId
      yield* attempt(() => fs.writeFile(join(guard, "boot"), boot, { mode: 0o600 }))
      // Read before the guard's clock, so that nothing is restored before the deadline that was told.
      const deadline = DateTime.add(yield* DateTime.now, { seconds })
      const due = (yield* uptime) + seconds * 100
      yield* attempt(() => fs.writeFile(join(guard, `pending.${due}`), "", { mode: 0o600 }))
      yield* launch(guard)
      return { deadline }
    }, Effect.uninterruptible)

    const restoreNow = (guard: string) =>
      Effect.gen(function*() {
        if (!(yield* isAlive(guard))) yield* launch(guard)
        return yield* settled(guard)
      })

    return FirewallGuard.of({
      name: Effect.sync(() => join(root, randomUUID())),
      arm,
      state,
      confirm: Effect.fn("FirewallGuard.confirm")(function*(guard) {
        yield* change(guard, Effect.succeed("confirmed"))
        return yield* state(guard)
      }),
      extend: Effect.fn("FirewallGuard.extend")(function*(guard, seconds) {
        yield* change(guard, Effect.map(uptime, (now) => `pending.${now + seconds * 100}`))
        return yield* state(guard)
      }),
      rollback: Effect.fn("FirewallGuard.rollback")(function*(guard) {
        yield* change(guard, Effect.succeed("pending.0"))
        const found = yield* state(guard)
        return decided(found.kind) ? found : yield* restoreNow(guard)
      }),
      revive: Effect.fn("FirewallGuard.revive")(function*(guard) {
        const found = yield* state(guard)
        if (decided(found.kind) || (yield* isAlive(guard))) return found
        const boot = yield* attempt(() => fs.readFile(join(guard, "boot"), "utf8"))
        // Another boot counts from zero: what was pending then is overdue.
        if (boot !== (yield* bootId)) yield* change(guard, Effect.succeed("pending.0"))
        yield* launch(guard)
        const now = yield* state(guard)
        const overdue = now.kind !== "pending" || DateTime.lessThanOrEqualTo(now.deadline, yield* DateTime.now)
        return overdue ? yield* settled(guard) : now
      }),
      release: (guard) => Effect.ignore(attempt(() => fs.rm(guard, { recursive: true, force: true })))
    })
  })

/** Guards as transient services of systemd, or else as processes in sessions of their own. */
export const guardProcess = (systemdRuns: boolean) => Layer.effect(FirewallGuard, make(systemdRuns))

/**
 * The guard as a process of its own: a transient service where systemd runs, else in a session of its own, which a
 * kill of our process group doesn't reach. Its files are in the data directory, readable by its owner alone.
 */
export const GuardProcess = Layer.suspend(() => guardProcess(existsSync("/run/systemd/system"))).pipe(
  Layer.provide(NftPlaceLive)
)
