import { Config, Data, Duration, Effect } from "effect"
import { execFile } from "node:child_process"

/** A tool ended without an exit code of its own: not installed, past its time, too much output, killed. */
export class ToolFailed extends Data.TaggedError("Nft/ToolFailed")<{ readonly reason: string }> {}

export interface ToolResult {
  /** The exit code; null where the program crashed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Signals by which a program ends through a fault of its own. */
const crashes: ReadonlyArray<unknown> = ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"]

const outputMaxBytes = 64 * 1024 * 1024

/** The search path of the tools; an ordinary user's own lacks the sbin directories where nft lives. */
export const toolPath = Config.string("PATH").pipe(
  Config.withDefault("/usr/local/bin:/usr/bin:/bin"),
  Config.map((path) => `${path}:/usr/local/sbin:/usr/sbin:/sbin`)
)

/** Everything a tool finds in its environment: the path, and English messages. */
export const toolEnvironment = (path: string) => ({ PATH: path, LC_ALL: "C" })

/** Runs one program by its argument vector, without a shell, and kills it at the time limit and on interruption. */
export const runTool = (
  [file, ...args]: readonly [string, ...Array<string>],
  options: { readonly path: string; readonly timeout: Duration.Duration }
) =>
  Effect.async<ToolResult, ToolFailed>((resume) => {
    const child = execFile(file, args, {
      cwd: "/",
      encoding: "utf8",
      env: toolEnvironment(options.path),
      killSignal: "SIGKILL",
      maxBuffer: outputMaxBytes,
      timeout: Duration.toMillis(options.timeout)
    }, (error, stdout, stderr) => {
      if (error === null) return resume(Effect.succeed({ code: 0, stdout, stderr }))
      if (typeof error.code === "number") return resume(Effect.succeed({ code: error.code, stdout, stderr }))
      if (error.killed !== true && crashes.includes(error.signal)) {
        return resume(Effect.succeed({ code: null, stdout, stderr }))
      }
      resume(new ToolFailed({ reason: reasonOf(file, error, options.timeout) }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const reasonOf = (
  file: string,
  error: { readonly code?: unknown; readonly killed?: boolean; readonly signal?: unknown },
  timeout: Duration.Duration
) => {
  switch (error.code) {
    case "ENOENT":
      return `${file} is not installed`
    case "EACCES":
      return `${file} may not be executed`
    case "ERR_CHILD_PROCESS_STDIO_MAXBUFFER":
      return `${file} printed more than ${outputMaxBytes} bytes`
  }
  if (error.killed === true) return `${file} did not answer within ${Duration.format(timeout)}`
  return `${file} ended by ${String(error.signal ?? error.code)}`
}
