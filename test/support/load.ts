import { Effect, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { Agent, request } from "node:http"

/** One request of the load: its status, 0 where the connection failed, and the milliseconds that it took. */
export interface Sent {
  readonly kind: string
  readonly at: number
  readonly ms: number
  readonly status: number
  readonly id?: string
  /** How the connection failed, and whether it had been of use before. */
  readonly failure?: string
  readonly onReusedSocket?: boolean
}

export interface Call {
  readonly kind: string
  readonly method: string
  readonly path: string
  readonly body?: () => string
  readonly type?: string
}

/** An order that Postgres has to keep: a tag on a client of its own. */
export const order: Call = {
  kind: "order",
  method: "POST",
  path: "/api/actions",
  body: () =>
    JSON.stringify({
      client_mac: `02:${randomBytes(5).toString("hex").match(/../g)!.join(":")}`,
      type: "tag",
      tag: "chaos",
      reason: "load"
    })
}

/** A hundred events that ClickHouse has to keep. */
export const events: Call = {
  kind: "events",
  method: "POST",
  path: "/api/dhcp/events",
  type: "application/x-ndjson",
  body: () =>
    Array.from({ length: 100 }, (_, index) =>
      JSON.stringify({
        event_time: new Date().toISOString(),
        protocol: "dhcpv4",
        message_type: "discover",
        client_mac: `02:cc:00:00:00:${index.toString(16).padStart(2, "0")}`
      })).join("\n")
}

export const read = (kind: string, path: string): Call => ({ kind, method: "GET", path })

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Sends one request, and gives what came of it. */
export const send = (url: string, token: string, call: Call): Promise<Sent> =>
  new Promise((resolve) => {
    const at = Date.now()
    const began = performance.now()
    const done = (rest: Pick<Sent, "status" | "id" | "failure" | "onReusedSocket">) =>
      resolve({ kind: call.kind, at, ms: performance.now() - began, ...rest })
    const sending = request(`${url}${call.path}`, {
      agent,
      method: call.method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(call.body === undefined ? {} : { "content-type": call.type ?? "application/json" })
      }
    }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", ({ message }) => done({ status: 0, failure: message, onReusedSocket: true }))
      response.on("end", () => {
        const status = response.statusCode!
        const id = status === 201 ? (JSON.parse(Buffer.concat(chunks).toString()) as { readonly id: string }).id : ""
        done({ status, id })
      })
    })
    sending.on("error", (error: NodeJS.ErrnoException) =>
      done({ status: 0, failure: error.code ?? error.message, onReusedSocket: sending.reusedSocket }))
    sending.end(call.body?.())
  })

/** Sends these calls in turn on so many connections until the scope closes; what came of them is told as it comes. */
export const load = (
  url: string,
  token: string,
  calls: ReadonlyArray<Call>,
  connections: number
): Effect.Effect<ReadonlyArray<Sent>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const sent: Array<Sent> = []
    let going = true
    const loops = Array.from({ length: connections }, async (_, index) => {
      for (let turn = index; going; turn++) {
        const one = await send(url, token, calls[turn % calls.length]!)
        sent.push(one)
        // What is refused at once isn't asked for in a circle.
        if (one.status === 0 || one.status === 503) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    yield* Effect.addFinalizer(() => {
      going = false
      return Effect.promise(() => Promise.all(loops))
    })
    return sent
  })

/** The share of a hundred below which so many of these times are, in ms. */
export const percentile = (times: ReadonlyArray<number>, share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0
