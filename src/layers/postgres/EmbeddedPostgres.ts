import { Effect, Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { access, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { claim } from "../claim.ts"
import { EngineUnavailable } from "../EngineUnavailable.ts"
import { commandLine } from "../processes.ts"
import { binaries } from "./binaries.ts"
import { type Run, type ToolFailed, unprivileged } from "./unprivileged.ts"

/** The superuser of the embedded server and the database of the service. */
export const embeddedName = "netops"

const stopSeconds = 30
const startSeconds = 60
const exists = (path: string) => Effect.promise(() => access(path).then(() => true, () => false))
const unavailable = (message: string, cause?: unknown) =>
  new EngineUnavailable({ engine: "postgres", message: `postgres: ${message}`, cause })

const fileStep = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => unavailable(`${what}: ${(cause as Error).message}`, cause) })

const freePort = Effect.async<number, EngineUnavailable>((resume) => {
  const server = createServer()
  server.once("error", (cause) => resume(Effect.fail(unavailable("no free port on 127.0.0.1", cause))))
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

interface Cluster {
  readonly run: Run
  readonly initdb: string
  readonly pgCtl: string
  readonly home: string
  readonly data: string
  readonly password: string
}

// What postmaster.pid holds, line by line: pid, data directory, start time, port, …, state.
const postmaster = (cluster: Cluster) =>
  Effect.promise(() => readFile(join(cluster.data, "postmaster.pid"), "utf8").catch(() => "")).pipe(
    Effect.map((text) => {
      const lines = text.split("\n").map((line) => line.trim())
      return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7] === "ready" }
    })
  )

const pgCtl = (cluster: Cluster, ...args: ReadonlyArray<string>) =>
  cluster.run(cluster.pgCtl, ["-D", cluster.data, ...args])

/** The port of a server that a killed process left on this directory, once it accepts connections; else undefined. */
const running = Effect.fnUntraced(function*(cluster: Cluster) {
  const isOurs = Effect.flatMap(postmaster(cluster), ({ pid }) => commandLine(pid)).pipe(
    Effect.map((command) => command._tag === "Some" && command.value.includes(cluster.data))
  )
  // A pid is used again, in containers soon: Postgres would take the stranger for its own postmaster.
  if (!(yield* isOurs)) {
    yield* fileStep("stale postmaster.pid", () => rm(join(cluster.data, "postmaster.pid"), { force: true }))
    return undefined
  }
  return yield* postmaster(cluster).pipe(
    Effect.filterOrFail(({ ready }) => ready),
    Effect.map(({ port }): number | undefined => port),
    Effect.catchAll(() =>
      Effect.flatMap(isOurs, (still) => still ? Effect.fail("not yet" as const) : Effect.succeed(undefined))
    ),
    Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo(`${startSeconds} seconds`))),
    Effect.mapError(() => unavailable(`the server left on ${cluster.data} neither gets ready nor ends`))
  )
})

const createCluster = Effect.fnUntraced(function*(cluster: Cluster, settings: Readonly<Record<string, string>>) {
  const fresh = `${cluster.data}.new`
  yield* fileStep("can't clear the data directory", () => rm(fresh, { recursive: true, force: true }))
  yield* cluster.run(cluster.initdb, [
    `--pgdata=${fresh}`,
    `--username=${embeddedName}`,
    `--pwfile=${cluster.password}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    ...(settings["fsync"] === "off" ? ["--no-sync"] : [])
  ])
  // Renamed when whole: a start that was killed halfway begins anew.
  yield* fileStep("can't move the new cluster", () => rename(fresh, cluster.data))
})

const start = (cluster: Cluster, settings: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const port = yield* freePort
    const options = Object.entries({
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: "''",
      log_min_messages: "fatal",
      ...settings
    })
    yield* pgCtl(
      cluster,
      "start",
      "--wait",
      `--timeout=${startSeconds}`,
      `--log=${join(cluster.home, "log")}`,
      `--options=${options.map(([name, value]) => `-c ${name}=${value}`).join(" ")}`
    )
    return port
  })

const stop = (cluster: Cluster) =>
  pgCtl(cluster, "stop", "--mode=fast", "--wait", `--timeout=${stopSeconds}`).pipe(
    Effect.orElse(() => pgCtl(cluster, "stop", "--mode=immediate", "--wait")),
    Effect.catchAll((error) => Effect.logError(`postgres: ${error.message}`))
  )

const withReason = (cluster: Cluster) => (error: EngineUnavailable | ToolFailed) =>
  error._tag === "EngineUnavailable"
    ? Effect.fail(error)
    : Effect.promise(() => readFile(join(cluster.home, "log"), "utf8").catch(() => "")).pipe(
      Effect.flatMap((log) => {
        const fatal = log.split("\n").filter((line) => line.includes("FATAL:")).at(-1)
        return Effect.fail(unavailable((fatal ?? error.message).replaceAll("\n", " "), error))
      })
    )

const prepare = Effect.fnUntraced(function*(dataDir: string) {
  const home = join(dataDir, "postgres")
  const password = join(home, "password")
  const { initdb, pg_ctl } = yield* binaries
  yield* fileStep("can't create the data directory", () => mkdir(home, { recursive: true, mode: 0o700 }))
  if (!(yield* exists(password))) {
    yield* fileStep(
      "can't write the password file",
      () => writeFile(password, randomBytes(24).toString("base64url"), { mode: 0o600 })
    )
  }
  const run = yield* unprivileged(home, initdb)
  return { run, initdb, pgCtl: pg_ctl, home, data: join(home, "data"), password } satisfies Cluster
})

const endpoint = Effect.fnUntraced(function*(cluster: Cluster, port: number) {
  const password = yield* fileStep("can't read the password", () => readFile(cluster.password, "utf8"))
  return {
    port,
    directory: cluster.home,
    url: (database: string) => Redacted.make(`postgres://${embeddedName}:${password}@127.0.0.1:${port}/${database}`)
  }
})

/**
 * A Postgres of our own below a data directory, on a free port of 127.0.0.1, until the scope closes; one that a killed
 * process left running there is taken over. `url` opens a database by name as superuser; `settings` are server settings.
 */
export const embeddedPostgres = Effect.fnUntraced(
  function*(dataDir: string, settings: Readonly<Record<string, string>> = {}) {
    yield* claim("postgres", join(dataDir, "postgres"))
    const cluster = yield* prepare(dataDir)
    const port = yield* Effect.acquireRelease(
      Effect.gen(function*() {
        if (!(yield* exists(cluster.data))) yield* createCluster(cluster, settings)
        // Another program may take the port before Postgres does.
        return (yield* running(cluster)) ?? (yield* Effect.retry(start(cluster, settings), { times: 2 }))
      }).pipe(Effect.catchAll(withReason(cluster))),
      () => stop(cluster)
    )
    return yield* endpoint(cluster, port)
  }
)

/** As `embeddedPostgres`; but where a live server of ours runs on the directory, that one, which goes on afterwards. */
export const sharedPostgres = (dataDir: string) =>
  embeddedPostgres(dataDir).pipe(
    Effect.catchTag("EngineUnavailable", (inUse) =>
      Effect.gen(function*() {
        const cluster = yield* prepare(dataDir)
        const port = yield* running(cluster)
        return port === undefined ? yield* inUse : yield* endpoint(cluster, port)
      }))
  )
