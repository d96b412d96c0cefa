import { createWriteStream } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

const insertHead = /^(\s*insert\b[\s\S]*)\bformat\s+(\w+)\s*;?\s*$/i

/** Holds the data of inserts in files while they run. */
export interface Spool {
  /** Whether a query takes its data from the body of the request. */
  readonly takes: (query: string | null) => query is string
  /** Writes the data to a file, calls `use` with a query that reads it from there, and removes the file. */
  readonly run: (query: string, data: Readable, use: (query: string) => Promise<void>) => Promise<void>
}

/**
 * A spool in a directory of its own. chDB takes the data of an insert as part of the query's text, and parses it in
 * less than half the time from a file (`FROM INFILE`, which a server doesn't have).
 */
export const openSpool = async (directory: string): Promise<Spool> => {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true, mode: 0o700 })
  let count = 0
  return {
    takes: (query): query is string => query !== null && insertHead.test(query),
    run: async (query, data, use) => {
      const path = join(directory, String(count++))
      const [, head = "", format = ""] = insertHead.exec(query) ?? []
      try {
        await pipeline(data, createWriteStream(path, { mode: 0o600 }))
        await use(`${head}FROM INFILE '${path.replace(/[\\']/g, "\\$&")}' FORMAT ${format}`)
      } finally {
        await rm(path, { force: true })
      }
    }
  }
}
