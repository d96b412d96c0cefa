import { type Duration, Effect, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { NftUnavailable } from "../../services/Nft.ts"
import { toolEnvironment } from "./runTool.ts"
import { entry } from "./Sandbox.ts"

const unavailable = () => new NftUnavailable({ reason: "no network namespace to try a ruleset in" })

const start = (enter: ReadonlyArray<string>, path: string) =>
  Effect.suspend(() => {
    const [file = "unshare", ...args] = [...enter, "unshare", "-n", "--", "cat"]
    const child = spawn(file, args, { cwd: "/", env: toolEnvironment(path), stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => undefined)
    child.stdin.on("error", () => undefined)
    return Effect.succeed(child)
  })

/** The programs before it are done once the child has become `cat`, which ends with its input or with us. */
const ready = (child: ChildProcess) =>
  Effect.tryPromise(() => readFile(`/proc/${child.pid}/cmdline`, "utf8")).pipe(
    Effect.filterOrFail((line) => line.startsWith("cat\0")),
    Effect.retry({ schedule: Schedule.spaced("3 millis"), times: 300, while: () => child.exitCode === null }),
    Effect.mapError(unavailable)
  )

/** Runs `use` with the way into an empty network namespace that is gone afterwards. */
export const withScratch = <A, E, R>(
  outer: ReadonlyArray<string>,
  options: { readonly path: string; readonly timeout: Duration.Duration },
  use: (enter: ReadonlyArray<string>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | NftUnavailable, R> =>
  Effect.acquireUseRelease(
    start(outer, options.path),
    (child) => Effect.zipRight(ready(child), Effect.flatMap(entry(child.pid ?? 0), use)),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
