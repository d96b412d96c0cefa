import { Data, Effect } from "effect"
import { execFile } from "node:child_process"
import { chmod, lchown, readdir, stat } from "node:fs/promises"
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
// Files stay root's outside; inside, root is an ordinary user. It works below directories that only root may enter.
const userNamespace = ["unshare", "-U", "--map-user=1000", "--map-group=1000", "--"]

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

const asNobody = (directory: string, probe: string) =>
  Effect.tryPromise(async () => {
    await chownTree(directory)
    await chmod(dirname(directory), 0o711)
  }).pipe(
    Effect.zipRight(runWith([], { uid: nobody, gid: nobody })(probe, ["--version"])),
    Effect.zipRight(runWith([], { uid: nobody, gid: nobody })("ls", [directory])),
    Effect.as(runWith([], { uid: nobody, gid: nobody })),
    Effect.mapError((cause) =>
      new EngineUnavailable({
        engine: "postgres",
        message: "postgres: root can't run the embedded Postgres here (no user namespaces, and the user nobody can't " +
          `reach ${directory} or ${probe}): start as an ordinary user or set DATABASE_URL`,
        cause
      })
    )
  )

/**
 * How to run the programs of Postgres on a directory (which exists): directly, or for root in a user namespace, or
 * where that isn't permitted as nobody, who is then given the directory. `probe` is one of the programs.
 */
export const unprivileged = Effect.fnUntraced(function*(directory: string, probe: string) {
  if (process.getuid?.() !== 0) return runWith([], {})
  const owner = yield* Effect.promise(() => stat(directory))
  if (owner.uid === nobody) return yield* asNobody(directory, probe)
  const inNamespace = runWith(userNamespace, {})
  return yield* inNamespace(probe, ["--version"]).pipe(
    Effect.as(inNamespace),
    Effect.orElse(() => asNobody(directory, probe))
  )
})
