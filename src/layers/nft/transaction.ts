import { Effect } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NftCommandObject } from "../../schema/Nftables.ts"
import { NftRejected } from "../../services/Nft.ts"

const inputMaxBytes = 32 * 1024 * 1024

/**
 * The transaction as libnftables JSON, or why it can't be one. A document that nft's JSON reader can't load (a NUL,
 * a lone surrogate, nesting beyond its depth) is read again as nft's own language, to which a backslash escapes
 * nothing: with a quote inside a string written as \u0022, no text of a string stands outside quotes there.
 */
export const encodeTransaction = (commands: ReadonlyArray<NftCommandObject>): Effect.Effect<string, NftRejected> =>
  Effect.try({
    try: () =>
      JSON.stringify({ nftables: commands }).replace(/\\(.)/g, (pair, next) => next === "\"" ? "\\u0022" : pair),
    catch: () => new NftRejected({ messages: ["The transaction is nested too deeply or isn't JSON"] })
  }).pipe(
    Effect.filterOrFail(
      (text) => Buffer.byteLength(text) <= inputMaxBytes,
      () => new NftRejected({ messages: [`The transaction is larger than ${inputMaxBytes} bytes`] })
    )
  )

/** Runs `use` with the path of a private file (0600 in a directory of its own, 0700) that is gone afterwards. */
export const withInputFile = <A, E, R>(text: string, use: (path: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), `netops-nft-${process.pid}-`))),
    (directory) => {
      const path = join(directory, "input.json")
      return Effect.zipRight(
        Effect.promise(() => writeFile(path, text, { mode: 0o600, flag: "wx" })),
        use(path)
      )
    },
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )
