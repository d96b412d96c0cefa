import { Effect } from "effect"
import { rmSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NftCommandObject } from "../../schema/Nftables.ts"
import { NftRejected } from "../../services/Nft.ts"

const inputMaxBytes = 32 * 1024 * 1024

const withoutQuotes = (text: string) =>
  text.includes("\\") ? text.replace(/\\(.)/g, (pair, next) => next === "\"" ? "\\u0022" : pair) : text

/**
 * The transaction as libnftables JSON, or why it can't be one. A document that nft's JSON reader can't load (a NUL,
 * a lone surrogate, nesting beyond its depth) is read again as nft's own language, to which a backslash escapes
 * nothing: with a quote inside a string written as \u0022, no text of a string stands outside quotes there.
 */
export const encodeTransaction = (commands: ReadonlyArray<NftCommandObject>): Effect.Effect<string, NftRejected> =>
  Effect.try({
    try: () => withoutQuotes(JSON.stringify({ nftables: commands })),
    catch: () => new NftRejected({ messages: ["The transaction is nested too deeply or isn't JSON"] })
  }).pipe(
    Effect.filterOrFail(
      (text) => Buffer.byteLength(text) <= inputMaxBytes,
      () => new NftRejected({ messages: [`The transaction is larger than ${inputMaxBytes} bytes`] })
    )
  )

/** A private directory (0700) for input files, gone with the scope. */
export const inputDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), `netops-nft-${process.pid}-`))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

let files = 0

/** Runs `use` with the path of a private file (0600) in that directory that is gone afterwards. */
export const withInputFile = <A, E, R>(
  directory: string,
  text: string,
  use: (path: string) => Effect.Effect<A, E, R>
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const path = join(directory, `input-${++files}.json`)
      // Synchronous: it is memory to memory, and the tool starts at once.
      writeFileSync(path, text, { mode: 0o600, flag: "wx" })
      return path
    }),
    use,
    (path) => Effect.sync(() => rmSync(path, { force: true }))
  )
