import { Data, Effect } from "effect"
import { execFile } from "node:child_process"
import { chmod, lchown, readdir, stat } from "node:fs/promises"
import { userInfo } from "node:os"
import { dirname, join } from "node:path"
import { EngineUnavailable } from "../EngineUnavailable.ts"

/** A program that ended with a failure: `exitCode` is -1 when it couldn't be started or was killed. */
export class ToolFailed extends Data.TaggedError("ToolFailed")<{
  readonly message: string
  readonly exitCode: number
  readonly output: string
}> {}

/** Runs a program as a user that Postgres accepts (it refuses root) and gives what it wrote to stdout. */
export type Run = (command: string, args: ReadonlyArray<string>) => Effect.Effect<string, ToolFailed>

const nobody = 65534
// Files stay the caller's outside; inside, the caller is nobody, an ordinary user whom every system knows (initdb looks
// its user up). It works below directories that only root may enter.
const userNamespace = ["unshare", "-U", `--map-user=${nobody}`, `--map-group=${nobody}`, "--"]

const runWith =
  (prefix: ReadonlyArray<string>, user: { readonly uid?: number; readonly gid?: number }): Run => (command, args) =>
    Effect.async<string, ToolFailed>((resume) => {
      const [file, ...rest] = [...prefix, command, ...args] as [string, ...Array<string>]
      execFile(file, rest, { ...user, cwd: "/" }, (error, stdout, stderr) => {
        if (error === null) return resume(Effect.succeed(stdout))
        const exitCode = typeof error.code === "number" ? error.code : -1
        const output = `${stdout}${stderr}`.trim() || error.message
        resume(Effect.fail(new ToolFailed({ message: `${command} failed: ${output}`, exitCode, output })))
      })
    })

const chownTree = async (path: string): Promise<void> => {
  await lchown(path, nobody, nobody)
  const entries = await readdir(path, { withFileTypes: true, recursive: true })
  for (const entry of entries) await lchown(join(entry.parentPath, entry.name), nobody, nobody)
}

const asNobody = (directory: string, probe: string) => {
  const run = runWith([], { uid: nobody, gid: nobody })
  return Effect.tryPromise(() => chmod(dirname(directory), 0o711)).pipe(
    Effect.zipRight(run(probe, ["--version"])),
    Effect.zipRight(run("ls", ["-d", directory])),
    Effect.zipRight(Effect.tryPromise(() => chownTree(directory))),
    Effect.as(run),
    Effect.mapError((cause) =>
      new EngineUnavailable({
        engine: "postgres",
        message: "postgres: root can't run the embedded Postgres here (no user namespaces, and the user nobody can't " +
          `reach ${directory} or ${probe}): start as an ordinary user or set DATABASE_URL`,
        cause
      })
    )
  )
}

const isNamed = () => {
  try {
    return userInfo().username !== ""
  } catch {
    return false
  }
}

/**
 * How to run the programs of Postgres on a directory (which exists): directly, or in a user namespace for root and for
 * a user without a name (`docker run --user`), or where that isn't permitted, for root, as nobody, who is then given the
 * directory. `probe` is one of the programs.
 */
export const unprivileged = Effect.fnUntraced(function*(directory: string, probe: string) {
  const direct = runWith([], {})
  const inNamespace = runWith(userNamespace, {})
  const probeNamespace = Effect.as(inNamespace(probe, ["--version"]), inNamespace)
  if (process.getuid?.() !== 0) return isNamed() ? direct : yield* Effect.orElseSucceed(probeNamespace, () => direct)
  const owner = yield* Effect.promise(() => stat(directory))
  if (owner.uid === nobody) return yield* asNobody(directory, probe)
  return yield* Effect.orElse(probeNamespace, () => asNobody(directory, probe))
})
