import { Duration, Effect, Option, Redacted, Ref, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { claim } from "../claim.ts"
import { EngineUnavailable } from "../EngineUnavailable.ts"
import { processIdentity } from "../processes.ts"
import { frontEntry } from "./front/entry.ts"
import type { Login, Start, Started } from "./front/protocol.ts"

const loginOf = (user: string): Login => ({ user, password: randomBytes(24).toString("base64url") })
const startLimit = Duration.seconds(30)
const stopLimit = Duration.seconds(8)

const unavailable = (message: string, cause?: unknown) =>
  new EngineUnavailable({ engine: "clickhouse", message: `clickhouse: ${message}`, cause })

const failures = {
  missing: () => unavailable("set CLICKHOUSE_URL, or install the optional package chdb"),
  locked: (message: string) => unavailable(`the data directory is held by another process (${message})`),
  other: (message: string) => unavailable(`the embedded engine doesn't start: ${message}`)
}

interface Child {
  readonly process: ChildProcess
  readonly port: number
  readonly version: string
}

const exited = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    const onExit = () => resume(Effect.void)
    child.once("exit", onExit)
    return Effect.sync(() => child.off("exit", onExit))
  })

const kill = (child: ChildProcess) => Effect.zipRight(Effect.sync(() => child.kill("SIGKILL")), exited(child))

const answer = (child: ChildProcess) =>
  Effect.async<Child, EngineUnavailable>((resume) => {
    child.once("error", (cause) => resume(Effect.fail(failures.other(cause.message))))
    child.once("exit", (code, signal) => resume(Effect.fail(failures.other(`it ended with ${signal ?? code}`))))
    child.once("message", (message: Started) =>
      resume(
        message.type === "ready"
          ? Effect.succeed({ process: child, port: message.port, version: message.version })
          : Effect.fail(failures[message.reason](message.message))
      ))
  }).pipe(
    Effect.timeoutFail({ duration: startLimit, onTimeout: () => failures.other("no answer within 30 seconds") })
  )

const launch = (entry: string, pidFile: string, start: Start) =>
  Effect.suspend(() => {
    const child = spawn(process.execPath, [entry], {
      // A group of its own: Ctrl-C at the terminal is for the parent, which still needs the engine while it drains.
      detached: true,
      // Nothing of our environment but what the engine needs: it takes a thread for each running query.
      env: { TZ: "UTC", UV_THREADPOOL_SIZE: "16" },
      stdio: ["ignore", "ignore", "inherit", "ipc"]
    })
    child.send(start, () => {})
    return answer(child).pipe(
      Effect.tap(() =>
        Effect.flatMap(processIdentity(child.pid ?? 0), (identity) =>
          Effect.promise(() => writeFile(pidFile, Option.getOrElse(identity, () => ""), { mode: 0o600 })))
      ),
      Effect.onError(() =>
        kill(child)
      )
    )
  })

const urlOf = ({ password, user }: Login, port: number) => Redacted.make(`http://${user}:${password}@127.0.0.1:${port}`)

/** Ends what a killed server left behind; the claim on the directory says that its parent is gone. */
const endOrphan = Effect.fnUntraced(function*(pidFile: string) {
  const recorded = yield* Effect.promise(() => readFile(pidFile, "utf8").catch(() => ""))
  const pid = Number(recorded.split(" ")[0])
  if (recorded === "" || !Option.contains(yield* processIdentity(pid), recorded)) return
  yield* Effect.logWarning(`clickhouse: ending process ${pid}, left by a server that was killed`)
  yield* Effect.sync(() => process.kill(pid, "SIGKILL")).pipe(Effect.catchAllDefect(() => Effect.void))
})

const stop = (child: ChildProcess) =>
  Effect.sync(() => child.send("stop", () => {})).pipe(
    Effect.zipRight(exited(child)),
    Effect.timeoutTo({ duration: stopLimit, onSuccess: () => true, onTimeout: () => false }),
    Effect.flatMap((ended) => ended ? Effect.void : kill(child)),
    Effect.catchAllDefect(() => kill(child))
  )

/**
 * A ClickHouse engine (chDB) below a data directory in a process of its own, which speaks HTTP on 127.0.0.1 until the
 * scope closes. When it crashes it is started again on the same port.
 */
export const embeddedClickHouse = Effect.fnUntraced(function*(dataDir: string) {
  const directory = join(dataDir, "clickhouse")
  const pidFile = `${directory}.pid`
  yield* claim("clickhouse", directory)
  yield* endOrphan(pidFile)
  const entry = yield* Effect.tryPromise({
    try: async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      return await frontEntry()
    },
    catch: (cause) => unavailable((cause as Error).message, cause)
  })
  const writer = loginOf("netops")
  const reader = loginOf("netops_reader")
  const start = (port: number) => launch(entry, pidFile, { path: directory, port, writer, reader })

  const first = yield* start(0)
  const current = yield* Ref.make(first)
  yield* Effect.addFinalizer(() =>
    Effect.flatMap(Ref.get(current), (child) => stop(child.process)).pipe(
      Effect.zipRight(Effect.promise(() => rm(pidFile, { force: true })))
    )
  )
  yield* Effect.gen(function*() {
    const child = yield* Ref.get(current)
    yield* exited(child.process)
    const { exitCode, signalCode } = child.process
    yield* Effect.logError(`clickhouse: the embedded engine ended with ${signalCode ?? exitCode}; starting it again`)
    // Uninterruptible, so that the finalizer knows of every child that came up.
    const next = yield* Effect.uninterruptible(Effect.tap(start(first.port), (child) => Ref.set(current, child))).pipe(
      Effect.tapError((error) => Effect.logError(error.message)),
      Effect.retry(Schedule.exponential("200 millis").pipe(Schedule.union(Schedule.spaced("5 seconds"))))
    )
    yield* Effect.logInfo(`clickhouse: the embedded engine is back on port ${next.port}`)
  }).pipe(Effect.forever, Effect.interruptible, Effect.forkScoped)

  return {
    directory,
    port: first.port,
    version: first.version,
    url: urlOf(writer, first.port),
    /** For a login that can do nothing but read. */
    readUrl: urlOf(reader, first.port)
  }
})
