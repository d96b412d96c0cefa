import { Effect, Option } from "effect"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"

const exec = promisify(execFile)

const ps = (pid: number, column: string) =>
  exec("ps", ["-o", `${column}=`, "-p", String(pid)]).then((r) => r.stdout.trim())

const read = (onLinux: () => Promise<string>, elsewhere: () => Promise<string>) =>
  Effect.tryPromise(process.platform === "linux" ? onLinux : elsewhere).pipe(
    Effect.option,
    Effect.map(Option.filter((text) => text !== ""))
  )

/** When a process started, from its /proc/PID/stat; empty where it has ended. */
export const startedAt = (stat: string): string => {
  // proc(5): the 22nd field of stat is the start time; the second, in parentheses, may hold spaces.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return state === "Z" || state === "X" ? "" : fields[18] ?? ""
}

/** A running process as `pid start-time`, which no later process shares; none when it doesn't run. */
export const processIdentity = (pid: number): Effect.Effect<Option.Option<string>> =>
  read(
    async () => startedAt(await readFile(`/proc/${pid}/stat`, "latin1")),
    () => ps(pid, "lstart")
  ).pipe(Effect.map(Option.map((started) => `${pid} ${started}`)))

/** The command line of a running process, its arguments separated by spaces; none when it doesn't run. */
export const commandLine = (pid: number): Effect.Effect<Option.Option<string>> =>
  read(
    async () => (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim(),
    () => ps(pid, "command")
  )
