import { Effect } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gunzipSync } from "node:zlib"

/** How a receiver treats its next requests; `lost` takes everything and dies before it says so. */
export type Manner = "takes" | "fails" | "hangs" | "cuts" | "lost" | "down"

export interface ReceivedRecord {
  /** Number among the arrivals at all receivers. */
  readonly order: number
  readonly id: string
  readonly subject: string
  readonly data: { readonly message: string }
  readonly notification: { readonly delivery_id: string; readonly reason: string; readonly rule_id: string }
}

/** An HTTP receiver of records on a port of loopback that keeps what it took. */
export interface Receiver {
  readonly port: number
  readonly received: Array<ReceivedRecord>
  readonly requests: () => number
  readonly behave: (manner: Manner) => Effect.Effect<void>
}

let arrivals = 0

const recordsOf = (request: IncomingMessage, body: Buffer): ReadonlyArray<ReceivedRecord> => {
  const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8")
  return request.headers["content-type"] === "application/json"
    ? JSON.parse(text)
    : text.trimEnd().split("\n").map((line) => JSON.parse(line))
}

export const startReceiver = Effect.acquireRelease(
  Effect.promise(async () => {
    let manner: Manner = "takes"
    let requests = 0
    const received: Array<ReceivedRecord> = []
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      requests++
      const how = manner
      if (how === "cuts") return void request.once("data", () => request.socket.destroy())
      const chunks: Array<Buffer> = []
      request.on("error", () => {})
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        if (how === "hangs") return
        if (how === "fails") return void response.writeHead(500).end("no")
        for (const record of recordsOf(request, Buffer.concat(chunks))) received.push({ ...record, order: arrivals++ })
        if (how === "lost") request.socket.destroy()
        else response.writeHead(200).end("{}")
      })
    }
    let server: Server
    const listen = (port: number) =>
      new Promise<number>((resolve) => {
        server = createServer(answer)
        server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
      })
    const stop = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    const port = await listen(0)
    const behave = async (next: Manner) => {
      if (next === "down" && manner !== "down") await stop()
      if (next !== "down" && manner === "down") await listen(port)
      manner = next
    }
    return {
      receiver: {
        port,
        received,
        requests: () => requests,
        behave: (next) => Effect.promise(() => behave(next))
      } satisfies Receiver,
      stop: () => manner === "down" ? Promise.resolve() : stop()
    }
  }),
  ({ stop }) => Effect.promise(stop)
).pipe(Effect.map(({ receiver }): Receiver => receiver))
