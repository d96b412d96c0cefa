import type { AddressInfo } from "node:net"
import { type Engine, openEngine } from "./engine.ts"
import type { Start, Started } from "./protocol.ts"
import { serve } from "./server.ts"
import { openSpool } from "./spool.ts"

const lockSeconds = 10
const closeSeconds = 5

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const report = (message: Started) => new Promise<void>((resolve) => process.send?.(message, () => resolve()))

const isLocked = (error: unknown) => /lock|CANNOT_OPEN_FILE|another server/i.test(String(error))

// A child that ended a moment ago, or is ending, may still hold the directory.
const open = async (path: string): Promise<Engine> => {
  const deadline = Date.now() + lockSeconds * 1000
  for (;;) {
    try {
      return await openEngine(path)
    } catch (error) {
      if (!isLocked(error) || Date.now() > deadline) throw error
      await sleep(200)
    }
  }
}

const reasonOf = (error: unknown) =>
  (error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND" ? "missing" : isLocked(error) ? "locked" : "other"

const run = async (start: Start): Promise<void> => {
  const engine = await open(start.path)
  const spool = await openSpool(`${start.path}.inserts`)
  const server = await serve(engine, spool, start, start.port)
  await report({ type: "ready", port: (server.address() as AddressInfo).port, version: engine.version })
  process.once("message", () => {
    server.close()
    server.closeIdleConnections()
    void Promise.race([engine.close(), sleep(closeSeconds * 1000)]).then(end)
  })
}

// Not process.exit: it would wait for queries that the engine can't cancel. What is inserted is on disk.
const end = () => process.kill(process.pid, "SIGKILL")

// The channel ends with the parent, however that ended.
process.once("disconnect", end)
process.once("message", (start: Start) => {
  run(start).catch(async (error: unknown) => {
    await report({ type: "failed", reason: reasonOf(error), message: (error as Error).message.split("\n")[0] ?? "" })
    end()
  })
})
