import { ConfigProvider, Effect, Layer } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DataDir } from "../../src/layers/DataDir.ts"
import { NftCommand } from "../../src/layers/nft/NftCommand.ts"

/** `NftCommand` on a data directory, with settings and nothing else of the environment but PATH. */
export const nftIn = (path: string, settings: Record<string, string> = {}) =>
  NftCommand.pipe(
    Layer.provide(Layer.succeed(DataDir, { path })),
    Layer.provide(Layer.setConfigProvider(
      ConfigProvider.fromMap(new Map(Object.entries({ PATH: process.env["PATH"] ?? "", ...settings })))
    ))
  )

/** A data directory for the life of the scope; the sandbox held for it ends with it. */
export const dataDir = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "netops-test-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** `NftCommand` in a sandbox of its own. */
export const NftSandbox = Layer.unwrapScoped(Effect.map(dataDir, (path) => nftIn(path)))
