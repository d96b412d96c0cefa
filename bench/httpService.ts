import { type ChildProcess, fork, spawn } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import ts from "typescript"

const repository = join(import.meta.dirname, "..")

/** Processes measured as they run in production get the flags of `npm start`. */
const nodeFlags = ["--max-semi-space-size=64"]

/** A process that is measured, and the port that it answers on. */
export interface Measured {
  readonly pid: number
  readonly port: number
  readonly stop: () => Promise<void>
}

/** The service as it is built, without checking its types; gives the file to start. */
export const built = async (directory: string): Promise<string> => {
  const out = await mkdtemp(join(directory, "dist-"))
  await symlink(join(repository, "node_modules"), join(out, "node_modules"))
  await writeFile(join(out, "package.json"), "{ \"type\": \"module\" }")
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), (path) => ts.sys.readFile(path)) as {
    readonly config: object
  }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository)
  const sources = (await readdir(join(repository, "src"), { recursive: true })).filter((name) => name.endsWith(".ts"))
  for (const source of sources) {
    const file = join(out, "src", source.replace(/\.ts$/, ".js"))
    const text = await readFile(join(repository, "src", source), "utf8")
    await mkdir(dirname(file), { recursive: true })
    await writeFile(
      file,
      ts.transpileModule(text, { compilerOptions: { ...options, module: ts.ModuleKind.ESNext } }).outputText
    )
  }
  return join(out, "src", "cli.js")
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })

const stopper = (child: ChildProcess) => () =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once("exit", () => resolve())
    child.kill("SIGTERM")
    setTimeout(() => child.kill("SIGKILL"), 10_000).unref()
  })

/** The service as a process of its own, once it is ready. */
export const startMeasured = async (
  entry: string,
  environment: Readonly<Record<string, string>>
): Promise<Measured> => {
  const port = await freePort()
  const child = spawn(process.execPath, [...nodeFlags, entry, "serve"], {
    env: { PATH: process.env["PATH"] ?? "", PORT: String(port), ...environment },
    stdio: ["ignore", "ignore", "inherit"]
  })
  const stop = stopper(child)
  const deadline = Date.now() + 60_000
  while (child.exitCode === null && Date.now() < deadline) {
    const live = await fetch(`http://127.0.0.1:${port}/health/live`).then(({ ok }) => ok, () => false)
    if (live) return { pid: child.pid!, port, stop }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await stop()
  throw new Error("the service did not start")
}

/** The peer: `node:http`, ajv and pg, answering the same. */
export const startPeer = (databaseUrl: string, series: string): Promise<Measured> =>
  new Promise((resolve, reject) => {
    const peer = fork(join(import.meta.dirname, "httpPeer.mjs"), [databaseUrl, series], { execArgv: nodeFlags })
    peer.once("exit", (code) => reject(new Error(`the peer ended with ${code}`)))
    peer.once(
      "message",
      ({ port }: { readonly port: number }) => resolve({ pid: peer.pid!, port, stop: stopper(peer) })
    )
  })

/** What `httpLoad.mjs` is to send. */
export interface Load {
  readonly port: number
  /** The request, octet for octet. */
  readonly request: string
  readonly connections: number
  readonly seconds: number
  /** So many at least, however long they take. */
  readonly requestsMin: number
}

export interface Loaded {
  readonly requests: number
  readonly elapsed_s: number
  readonly p50_ms: number
  readonly p99_ms: number
}

/** Starts the process that sends. */
export const startLoader = () => {
  const loader = fork(join(import.meta.dirname, "httpLoad.mjs"), { execArgv: [] })
  const drive = (load: Load) =>
    new Promise<Loaded>((resolve, reject) => {
      loader.once("message", (answer: Loaded | { readonly failed: string }) =>
        "failed" in answer ? reject(new Error(answer.failed)) : resolve(answer))
      loader.send(load)
    })
  return { drive, stop: stopper(loader) }
}

/** CPU time of a process so far, in seconds: user and system. */
export const cpuOf = async (pid: number): Promise<number> => {
  const text = await readFile(`/proc/${pid}/stat`, "utf8")
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}
