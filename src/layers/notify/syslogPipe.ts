import { hostname } from "node:os"
import type { LogPipelineSettings } from "../../schema/LogPipeline.ts"
import type { PipelineRecord } from "../../services/LogPipelineChannel.ts"
import { octetCounted, syslogMessage } from "../../services/notify/rfc5424.ts"
import type { Target } from "../../services/notify/targets.ts"
import { connectedEvent, connectTo, type Guard } from "./guardedConnection.ts"

/**
 * Writes records on a connection of its own and ends it. Syslog acknowledges nothing: taken is what the peer read up
 * to the end, which it shows by closing its side too; one that dies before resets the connection instead.
 */
export const writeRecords = (
  settings: LogPipelineSettings,
  target: Target,
  guard: Guard,
  records: ReadonlyArray<PipelineRecord>,
  signal: AbortSignal
): Promise<void> =>
  new Promise((resolve, reject) => {
    const node = hostname()
    const socket = connectTo(target, settings, guard)
    let written = false
    socket.once("error", reject)
    socket.once("close", (failed) => {
      if (!failed) reject(new Error("the peer closed the connection before it had everything"))
    })
    socket.once("end", () => {
      if (written) resolve()
    })
    socket.resume()
    socket.once(connectedEvent(target), () => {
      socket.end(octetCounted(records.map((record) => syslogMessage(record, node))), () => {
        written = true
      })
    })
    signal.addEventListener("abort", () => socket.destroy(new Error("given up")), { once: true })
  })
