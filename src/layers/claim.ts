import { Effect, Option, Schedule } from "effect"
import { readFile, rm, writeFile } from "node:fs/promises"
import { EngineUnavailable } from "./EngineUnavailable.ts"
import { processIdentity } from "./processes.ts"

/**
 * Holds a directory of an embedded engine for this process until the scope closes. Fails when another live process
 * holds it; a holder that was killed leaves nothing behind that blocks.
 */
export const claim = (engine: EngineUnavailable["engine"], directory: string) => {
  const file = `${directory}.owner`
  const fail = (cause: unknown) =>
    new EngineUnavailable({ engine, message: `${engine}: can't write ${file}: ${(cause as Error).message}`, cause })

  const take = (self: string): Effect.Effect<void, EngineUnavailable> =>
    Effect.tryPromise(() => writeFile(file, self, { flag: "wx", mode: 0o600 })).pipe(
      Effect.catchIf((error) => (error.error as NodeJS.ErrnoException).code === "EEXIST", () => replace(self)),
      Effect.catchTag("UnknownException", ({ error }) => Effect.fail(fail(error)))
    )

  const replace = Effect.fnUntraced(function*(self: string) {
    const owner = yield* Effect.promise(() => readFile(file, "utf8").catch(() => ""))
    const pid = Number(owner.split(" ")[0])
    const alive = yield* processIdentity(pid)
    if (Option.contains(alive, owner)) {
      return yield* new EngineUnavailable({
        engine,
        message: `${engine}: ${directory} is in use by process ${pid}; give this one a NETOPS_DATA_DIR of its own`
      })
    }
    yield* Effect.tryPromise({ try: () => rm(file, { force: true }), catch: fail })
    yield* take(self)
  })

  return Effect.acquireRelease(
    Effect.flatMap(processIdentity(process.pid), (self) =>
      // A holder that was killed a moment ago may take another to end.
      Effect.retry(
        take(Option.getOrElse(self, () => String(process.pid))),
        Schedule.spaced("100 millis").pipe(Schedule.upTo("1 second"))
      )),
    () => Effect.promise(() => rm(file, { force: true }))
  )
}
