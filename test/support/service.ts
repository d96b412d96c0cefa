import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { connect, createServer } from "node:net"
import { dirname, join } from "node:path"

const viteNode = join(dirname(createRequire(import.meta.url).resolve("vite-node/package.json")), "vite-node.mjs")

export const adminPassword = "the password of admin"

/** Lets those who can reach `host` reach what listens on this machine's loopback: the address there. */
export const forwarded = (host: string, url: string) =>
  Effect.gen(function*() {
    const { hostname, port } = new URL(url)
    const server = createServer((near) => {
      const far = connect(Number(port), hostname)
      near.on("error", () => far.destroy()).on("close", () => far.destroy())
      far.on("error", () => near.destroy()).on("close", () => near.destroy())
      near.pipe(far).pipe(near)
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, host, () => resume(Effect.void))),
      () => Effect.sync(() => server.close())
    )
    const address = server.address() as { readonly port: number }
    return Object.assign(new URL(url), { hostname: host, port: String(address.port) }).href
  })

/** The whole service as the leader of a process group of its own; `enter` are the arguments that start it elsewhere. */
export const startService = (
  enter: ReadonlyArray<string>,
  url: string,
  env: Readonly<Record<string, string>>
) =>
  Effect.gen(function*() {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const [file = "", ...args] = [...enter, process.execPath, viteNode, "src/cli.ts", "serve"]
        const child = spawn(file, args, {
          detached: true,
          env: { ...process.env, ...env, NETOPS_ADMIN_PASSWORD: adminPassword },
          stdio: ["ignore", "pipe", "pipe"]
        })
        const output: Array<string> = []
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output.push(String(text)))
        const gone = new Promise<void>((resolve) => child.once("close", () => resolve()))
        // The whole group, as a service manager ends it.
        const isRunning = () => child.exitCode === null && child.signalCode === null
        const kill = Effect.promise(() => {
          if (isRunning()) process.kill(-child.pid!, "SIGKILL")
          return gone
        })
        return { isRunning, kill, output, pid: child.pid! }
      }),
      ({ kill }) => kill
    )
    yield* Effect.tryPromise(() => fetch(`${url}/health/live`, { signal: AbortSignal.timeout(2_000) })).pipe(
      Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 600, while: () => child.isRunning() }),
      Effect.orDieWith((error) => new Error(`${String(error)}: ${child.output.join("")}`))
    )
    return child
  })
