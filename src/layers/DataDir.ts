import { Config, Context, Data, Effect, Layer } from "effect"
import { mkdir } from "node:fs/promises"
import { resolve } from "node:path"

/** The data directory can't be created: `message` names the path and the system's reason. */
export class DataDirUnusable extends Data.TaggedError("DataDirUnusable")<{ readonly message: string }> {}

/** Where this node keeps its files: an absolute path that exists, readable by its owner alone (0700). */
export class DataDir extends Context.Tag("layers/DataDir")<DataDir, { readonly path: string }>() {}

export const DataDirLive = Layer.effect(
  DataDir,
  Effect.gen(function*() {
    const path = resolve(yield* Config.nonEmptyString("NETOPS_DATA_DIR").pipe(Config.withDefault(".netops")))
    yield* Effect.tryPromise({
      try: () => mkdir(path, { recursive: true, mode: 0o700 }),
      catch: (cause) => new DataDirUnusable({ message: `NETOPS_DATA_DIR: ${(cause as Error).message}` })
    })
    return { path }
  })
)
