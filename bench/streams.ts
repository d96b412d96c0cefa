import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { Result } from "./harness.ts"
import type { Service } from "./service.ts"

const count = 500
const kibMax = 100
const client = fileURLToPath(new URL("streamClient.mjs", import.meta.url))
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Resident memory of this process in KiB, once it is at rest. */
const resident = async (): Promise<number> => {
  const seen: Array<number> = []
  for (let i = 0; i < 5; i++) {
    collect()
    await rest(200)
    seen.push(process.memoryUsage.rss() / 1024)
  }
  return Math.min(...seen)
}

/** A process that holds open streams; its messages go to `told`. */
const openStreams = (
  url: string,
  token: string,
  count: number,
  told: (delayMs: number) => void = () => {}
) =>
  new Promise<ChildProcess>((resolve, reject) => {
    const child = fork(client, [url, String(count), token])
    child.once("exit", () => reject(new Error("the streams were not opened")))
    child.on("message", (message: { readonly open?: number; readonly delayMs?: number }) => {
      if (message.open === count) resolve(child)
      if (message.delayMs !== undefined) told(message.delayMs)
    })
  })

const ended = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    child.removeAllListeners("exit").once("exit", () => resolve())
    child.kill()
  })

const send = async ({ token, url }: Service, events: number) => {
  const now = Date.now()
  const line = JSON.stringify({
    event_time: new Date(now).toISOString(),
    protocol: "dhcpv4",
    message_type: "discover",
    client_mac: "02:bd:00:00:00:01",
    hostname: `sent-${now}`
  })
  const response = await fetch(`${url}/api/dhcp/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: Array(events).fill(line).join("\n")
  })
  await response.text()
}

/** KiB of resident memory for each of the streams that `use` keeps open while it is measured. */
const kibEach = async (url: string, token: string, flow: () => Promise<void>): Promise<number> => {
  // A few streams first: code that is compiled and buffers that are pooled once are not theirs.
  const few = await openStreams(url, token, 10)
  await flow()
  await ended(few)
  const before = await resident()
  const child = await openStreams(url, token, count)
  await flow()
  const after = await resident()
  await ended(child)
  return (after - before) / count
}

/** What streams of the service take up while events flow. */
export const streams = async (service: Service): Promise<Result> => {
  const flow = async () => {
    for (let i = 0; i < 20; i++) {
      await send(service, 5)
      await rest(50)
    }
    await rest(1000)
  }
  const ours = await kibEach(`${service.url}/api/dhcp/stream`, service.token, flow)
  return {
    title: `${count} live streams`,
    ours: `GET /api/dhcp/stream: ${ours.toFixed(0)} KiB each`,
    peer: `the limit: ${kibMax} KiB each`,
    ratio: `${(ours / kibMax).toFixed(2)} x the limit`,
    target: `at most ${kibMax} KiB each`
  }
}

const quantile = (sorted: ReadonlyArray<number>, q: number) => sorted[Math.floor(q * (sorted.length - 1))]!

/** From sending an event to its arrival at each of the streams, beside the time until the sender has its answer. */
export const streamDelay = async (service: Service): Promise<Result> => {
  const delays: Array<number> = []
  const answers: Array<number> = []
  const child = await openStreams(`${service.url}/api/dhcp/stream`, service.token, count, (delay) => delays.push(delay))
  for (let i = 0; i < 100; i++) {
    const start = performance.now()
    await send(service, 1)
    answers.push(performance.now() - start)
    await rest(50)
  }
  await rest(1000)
  await ended(child)
  if (delays.length !== 100 * count) throw new Error(`${delays.length} of ${100 * count} arrived`)
  delays.sort((a, b) => a - b)
  answers.sort((a, b) => a - b)
  return {
    title: `ingest to ${count} streams`,
    ours: `p50 ${quantile(delays, 0.5)} ms, p99 ${quantile(delays, 0.99)} ms`,
    peer: `answer to the sender: p50 ${quantile(answers, 0.5).toFixed(0)} ms, p99 ${
      quantile(answers, 0.99).toFixed(0)
    } ms`,
    ratio: `${(quantile(delays, 0.5) / quantile(answers, 0.5)).toFixed(1)} x the answer`,
    target: "within a second"
  }
}
