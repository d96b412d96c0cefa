import { createRequire } from "node:module"
import { formatOf, isStreamable, preparation, type Statement } from "./statement.ts"

interface Result {
  readonly rowsRead: number
  readonly bytesRead: number
  readonly elapsed: number
  bytes(): Uint8Array
}

interface Session {
  queryAsync(sql: string, options?: { readonly format?: string }): Promise<Result>
  queryStream(sql: string, options: { readonly format: string }): AsyncIterable<{ raw(): Uint8Array }>
  close(): void
}

interface Chdb {
  readonly Session: new(path: string) => Session
}

/** One answer: its summary is known only when the engine had the whole of it before the first byte. */
export interface Answer {
  readonly format: string
  readonly chunks: AsyncIterable<Uint8Array>
  readonly summary: { readonly read_rows: string; readonly read_bytes: string; readonly elapsed_ns: string } | undefined
}

async function* one(bytes: Uint8Array) {
  yield bytes
}

/** The first chunk is awaited here, so that a query that fails at once fails before the answer has begun. */
const begun = async (source: AsyncIterable<{ raw(): Uint8Array }>): Promise<AsyncIterable<Uint8Array>> => {
  const iterator = source[Symbol.asyncIterator]()
  let next = await iterator.next()
  return (async function*() {
    try {
      for (; next.done !== true; next = await iterator.next()) yield next.value.raw()
    } finally {
      await iterator.return?.()
    }
  })()
}

/** The ClickHouse engine on one directory, which it holds for this process alone. */
export const openEngine = async (path: string) => {
  const { Session } = createRequire(import.meta.url)("chdb") as Chdb
  // Kept open: the engine would shut down with its last connection.
  const keep = new Session(path)
  await keep.queryAsync("SELECT 1")
  const versions = await keep.queryAsync("SELECT version()", { format: "TSVRaw" })
  let runningQueries = 0

  const run = async (session: Session, statement: Statement, send: (answer: Answer) => Promise<void>) => {
    const format = formatOf(statement)
    for (const sql of preparation(statement)) await session.queryAsync(sql)
    if (isStreamable(statement)) {
      const chunks = await begun(session.queryStream(statement.sql, { format }))
      return send({ format, chunks, summary: undefined })
    }
    const result = await session.queryAsync(statement.sql, { format })
    const summary = {
      read_rows: String(result.rowsRead),
      read_bytes: String(result.bytesRead),
      elapsed_ns: String(Math.round(result.elapsed * 1e9))
    }
    return send({ format, chunks: one(result.bytes()), summary })
  }

  return {
    version: Buffer.from(versions.bytes()).toString("utf8").trim(),
    /**
     * Runs a statement on a connection of its own, since chDB gives rows of a failed query to the next one of the same
     * connection; it is closed when `send` is done with the answer.
     */
    execute: async (statement: Statement, send: (answer: Answer) => Promise<void>): Promise<void> => {
      const session = new Session(path)
      runningQueries += 1
      try {
        await run(session, statement, send)
      } finally {
        runningQueries -= 1
        session.close()
      }
    },
    /** Waits for running queries, since closing beneath one aborts the engine, and lets go of the directory. */
    close: async (): Promise<void> => {
      while (runningQueries > 0) await new Promise((resolve) => setTimeout(resolve, 20))
      keep.close()
    }
  }
}

export type Engine = Awaited<ReturnType<typeof openEngine>>
