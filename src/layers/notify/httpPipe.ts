import { request as httpRequest } from "node:http"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { LogPipelineSettings } from "../../schema/LogPipeline.ts"
import { type PipelineRecord, SendFailed } from "../../services/LogPipelineChannel.ts"
import type { Target } from "../../services/notify/targets.ts"
import { connectedEvent, connectTo, type Guard } from "./guardedConnection.ts"

const compress = promisify(gzip)

/** Statuses by which a server refuses what it was sent, rather than whoever sent it. */
const aboutRecords = new Set([400, 413, 415, 422])

const bodyOf = async ({ compression, encoding }: LogPipelineSettings, records: ReadonlyArray<PipelineRecord>) => {
  const lines = records.map(({ json }) => json)
  const text = encoding.codec === "json" ? `[${lines.join(",")}]` : `${lines.join("\n")}\n`
  return compression === "gzip" ? await compress(text) : Buffer.from(text, "utf8")
}

const authorizationOf = ({ auth }: LogPipelineSettings): Readonly<Record<string, string>> => {
  switch (auth.strategy) {
    case "none":
      return {}
    case "basic":
      return { authorization: `Basic ${Buffer.from(`${auth.user}:${auth.password}`, "utf8").toString("base64")}` }
    case "bearer":
      return { authorization: `Bearer ${auth.token}` }
  }
}

const headersOf = (settings: LogPipelineSettings, target: Target, length: number) => {
  const { compression, encoding, request } = settings
  const host = target.host.includes(":") ? `[${target.host}]` : target.host
  return {
    ...request.headers,
    ...authorizationOf(settings),
    host: target.port === (target.scheme === "https" ? 443 : 80) ? host : `${host}:${target.port}`,
    "user-agent": "netops-api",
    "content-type": encoding.codec === "json" ? "application/json" : "application/x-ndjson",
    "content-length": String(length),
    ...(compression === "gzip" ? { "content-encoding": "gzip" } : {}),
    connection: "close"
  }
}

/**
 * Posts records on a connection of its own. Taken is what is answered with 2xx to the end of the answer; redirects are
 * not followed.
 */
export const postRecords = async (
  settings: LogPipelineSettings,
  target: Target,
  guard: Guard,
  records: ReadonlyArray<PipelineRecord>,
  signal: AbortSignal
): Promise<void> => {
  const body = await bodyOf(settings, records)
  await new Promise<void>((resolve, reject) => {
    const socket = connectTo(target, settings, guard)
    socket.once("error", reject)
    socket.once(connectedEvent(target), () => {
      const request = httpRequest({
        method: "POST",
        path: target.path,
        headers: headersOf(settings, target, body.length),
        createConnection: () => socket,
        signal
      })
      request.once("error", reject)
      request.once("response", (response) => {
        const status = response.statusCode ?? 0
        response.once("error", reject)
        response.once("close", () => {
          if (!response.complete) return reject(new Error("the connection was cut within the answer"))
          if (status >= 200 && status < 300) return resolve()
          const scope = aboutRecords.has(status) ? "record" : "channel"
          reject(new SendFailed({ scope, message: `${target.host} answered ${status}` }))
        })
        response.resume()
      })
      request.end(body)
    })
    signal.addEventListener("abort", () => socket.destroy(new Error("given up")), { once: true })
  })
}
