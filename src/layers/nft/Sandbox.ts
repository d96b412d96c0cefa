import { type Duration, Effect, Option, Schedule } from "effect"
import { spawn } from "node:child_process"
import { readFileSync, readlinkSync } from "node:fs"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { NftUnavailable } from "../../services/Nft.ts"
import { startedAt } from "../processes.ts"
import { unshareFlag } from "./capabilities.ts"
import { runTool, toolEnvironment } from "./runTool.ts"

/** A live holder process of the sandbox: its pid, and the arguments that run a program in its namespaces. */
export interface Holder {
  readonly pid: number
  readonly enter: readonly [string, ...Array<string>]
  readonly created: boolean
}

/**
 * The holder keeps the namespace open for as long as the record names it: removing the record or the data directory
 * ends it within seconds, and so does a newer holder's record.
 */
const holderScript = `while sleep 2; read -r pid rest < "$1" && [ "$pid" = "$$" ]; do :; done 2>/dev/null`

const unavailable = (reason: string) => new NftUnavailable({ reason })

const attempt = <A>(evaluate: () => Promise<A>) => Effect.option(Effect.tryPromise(evaluate))

/** Of /proc, which answers at once: each call of nft asks it, and a thread of the pool would take longer. */
const seen = (read: () => string) => Option.liftThrowable(read)()

/** What tells a holder from a later process with its pid, also after a reboot. */
const identity = (pid: number) =>
  Effect.sync(() =>
    Option.gen(function*() {
      const started = yield* seen(() => startedAt(readFileSync(`/proc/${pid}/stat`, "latin1")))
      const boot = yield* seen(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))
      const namespace = yield* seen(() => readlinkSync(`/proc/${pid}/ns/net`))
      return started === "" ? yield* Option.none() : `${pid} ${started} ${boot.trim()} ${namespace}`
    })
  )

/** The arguments that run a program in the namespaces of a process. */
export const entry = (pid: number) =>
  Effect.sync(() => {
    const [own, other] = ["self", pid].map((process) => seen(() => readlinkSync(`/proc/${process}/ns/user`))) as [
      Option.Option<string>,
      Option.Option<string>
    ]
    const user = Option.getOrNull(own) === Option.getOrNull(other)
      ? []
      : [`--user=/proc/${pid}/ns/user`, "--preserve-credentials"]
    return ["nsenter", ...user, `--net=/proc/${pid}/ns/net`, "--"] as const
  })

/**
 * The network namespace of this data directory. Its holder is found again by the record there, also after the server
 * was killed, and made anew when it is gone; the ruleset lives exactly as long as the holder.
 */
export const makeSandbox = (options: {
  readonly dataDir: string
  readonly path: string
  readonly timeout: Duration.Duration
}) =>
  Effect.gen(function*() {
    const directory = join(options.dataDir, "nft")
    const record = join(directory, "sandbox")
    const one = yield* Effect.makeSemaphore(1)

    const current = Effect.gen(function*() {
      const text = seen(() => readFileSync(record, "utf8"))
      if (Option.isNone(text)) return Option.none<number>()
      const pid = Number.parseInt(text.value, 10)
      const found = yield* identity(pid)
      return Option.isSome(found) && found.value === text.value.trim() ? Option.some(pid) : Option.none<number>()
    })

    const start = Effect.gen(function*() {
      const flag = yield* unshareFlag
      const trial = yield* runTool(["unshare", flag, "--", "true"], options).pipe(
        Effect.mapError((error) => unavailable(`no sandbox network namespace: ${error.reason}`))
      )
      if (trial.code !== 0) {
        return yield* unavailable(`no sandbox network namespace: ${trial.stderr.trim().split("\n")[0]}`)
      }
      const own = yield* attempt(() => fs.readlink("/proc/self/ns/net"))
      const child = spawn("unshare", [flag, "--", "sh", "-c", holderScript, "netops-nft", record], {
        cwd: "/",
        detached: true,
        env: toolEnvironment(options.path),
        stdio: "ignore"
      })
      child.on("error", () => undefined)
      child.unref()
      const pid = child.pid
      if (pid === undefined) return yield* unavailable("no sandbox network namespace: unshare did not start")
      // unshare is done once it has become the shell: the program's name is the first thing in cmdline.
      yield* attempt(() => fs.readFile(`/proc/${pid}/cmdline`, "utf8")).pipe(
        Effect.filterOrFail((line) => Option.isSome(line) && line.value.startsWith("sh\0")),
        Effect.retry({ schedule: Schedule.spaced("5 millis"), times: 400 }),
        Effect.mapError(() => unavailable("no sandbox network namespace: its holder did not start"))
      )
      const found = yield* identity(pid)
      if (Option.isNone(found) || (Option.isSome(own) && found.value.endsWith(own.value))) {
        return yield* unavailable("no sandbox network namespace: its holder ended at once")
      }
      return { pid, identity: found.value }
    })

    // Linking fails where a record stands, so that of several servers that start at once all take one holder.
    const keep = (holder: { readonly pid: number; readonly identity: string }, stale: boolean) =>
      Effect.tryPromise({
        try: async () => {
          const mine = `${record}.${holder.pid}`
          await fs.writeFile(mine, `${holder.identity}\n`, { mode: 0o600 })
          if (stale) await fs.rm(record, { force: true })
          await fs.link(mine, record).catch((error: NodeJS.ErrnoException) => {
            if (error.code !== "EEXIST") throw error
            process.kill(holder.pid, "SIGKILL")
          })
          await fs.rm(mine)
        },
        catch: (error) => unavailable(`no sandbox network namespace: ${String(error)}`)
      })

    const create = Effect.gen(function*() {
      yield* Effect.tryPromise({
        try: () => fs.mkdir(directory, { recursive: true, mode: 0o700 }),
        catch: (error) => unavailable(`no sandbox network namespace: ${String(error)}`)
      })
      const stale = yield* attempt(() => fs.access(record))
      const holder = yield* start
      yield* Effect.ignore(runTool([...(yield* entry(holder.pid)), "ip", "link", "set", "lo", "up"], options))
      yield* keep(holder, Option.isSome(stale))
      const pid = yield* yield* current
      return { pid, created: pid === holder.pid }
    }).pipe(
      Effect.uninterruptible,
      Effect.catchTag("NoSuchElementException", () => unavailable("no sandbox network namespace: its holder ended"))
    )

    /** The live holder, made when there is none. */
    const holder: Effect.Effect<Holder, NftUnavailable> = one.withPermits(1)(Effect.gen(function*() {
      const found = yield* current
      const { created, pid } = Option.isSome(found) ? { pid: found.value, created: false } : yield* create
      return { pid, created, enter: yield* entry(pid) }
    }))

    return holder
  })
