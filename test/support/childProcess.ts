import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

const viteNode = join(dirname(createRequire(import.meta.url).resolve("vite-node/package.json")), "vite-node.mjs")

/** A program of this directory as a process of its own, killed when the scope closes; its output is kept. */
export interface Child {
  readonly process: ChildProcess
  readonly output: () => string
  /** Waits until the process is gone. */
  readonly kill: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Waits until the process is gone by itself; its exit code. */
  readonly ended: Effect.Effect<number | null>
}

export const startChild = (
  program: string,
  env: Readonly<Record<string, string>>,
  { args = [], input }: { readonly args?: ReadonlyArray<string>; readonly input?: string } = {}
) =>
  Effect.acquireRelease(
    Effect.sync((): Child => {
      const child = spawn(process.execPath, [viteNode, join(import.meta.dirname, program), ...args], {
        env: { ...process.env, ...env },
        stdio: ["pipe", "pipe", "pipe"]
      })
      child.stdin.on("error", () => {})
      child.stdin.end(input)
      let output = ""
      child.stdout.on("data", (chunk) => output += String(chunk))
      child.stderr.on("data", (chunk) => output += String(chunk))
      const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()))
      const closed = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)))
      return {
        process: child,
        output: () => output,
        ended: Effect.promise(() => closed),
        kill: (signal) =>
          Effect.promise(() => {
            child.kill(signal)
            return gone
          })
      }
    }),
    (child) =>
      child.process.exitCode === null && child.process.signalCode === null ? child.kill("SIGKILL") : Effect.void
  )
