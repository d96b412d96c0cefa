import { assert, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { type ChildProcess, execFile, execFileSync } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { promisify } from "node:util"
import { keaNetwork, keaRequirements, packetSockets } from "../support/kea.ts"
import { liveSuite } from "../support/live.ts"
import { countOf } from "../support/tsharkCount.ts"

const run = promisify(execFile)
const root = new URL("../..", import.meta.url).pathname
const cli = [join(root, "node_modules/.bin/vite-node"), "--root", root, join(root, "src/cli.ts")]
const password = "a-password-for-tests"
const url = "http://127.0.0.1:8080"

const until = <A>(what: string, attempt: () => Promise<A | undefined>): Effect.Effect<A, Error> =>
  Effect.tryPromise({ try: attempt, catch: (error) => new Error(`${what}: ${String(error)}`) }).pipe(
    Effect.filterOrFail((found): found is NonNullable<typeof found> => found !== undefined, () => new Error(what)),
    Effect.retry(Schedule.spaced("200 millis").pipe(Schedule.upTo("20 seconds")))
  )

interface Detected {
  readonly data: { readonly DetectedMacs: ReadonlyArray<Record<string, string | number>> }
}

const stop = (child: ChildProcess) =>
  Effect.promise(async () => {
    const closed = once(child, "close")
    child.kill("SIGINT")
    await closed
  })

liveSuite("netops ingest --interface", [...keaRequirements, "tshark", "tcpdump", "curl"], () => {
  it.scopedLive(
    "shows Kea's traffic in a preview with the figures that tshark counts",
    () =>
      Effect.gen(function*() {
        const network = yield* keaNetwork
        const inside = ["netns", "exec", network.clientNamespace]
        const curl = (path: string, token: string | undefined, body: object): Promise<unknown> =>
          run("ip", [
            ...[...inside, "curl", "-sSf", `${url}${path}`, "-H", "content-type: application/json"],
            ...(token === undefined ? [] : ["-H", `authorization: Bearer ${token}`]),
            ...["-d", JSON.stringify(body)]
          ]).then(({ stdout }) => JSON.parse(stdout))
        const login = () =>
          curl("/api/auth/login", undefined, { username: "admin", password }) as Promise<{ token: string }>

        execFileSync("ip", [...inside, "ip", "link", "set", "lo", "up"])
        const server = network.spawnAtClient(
          "env",
          `NETOPS_DATA_DIR=${join(network.directory, "data")}`,
          `NETOPS_ADMIN_PASSWORD=${password}`,
          ...cli,
          "serve"
        )
        const { token } = yield* until("the service answers", login)

        const path = join(network.directory, "tcpdump.pcap")
        const device = network.clientInterface
        const tcpdump = network.spawnAtClient("tcpdump", "--immediate-mode", "-U", "-i", device, "-w", path, "udp")
        const ingest = network.spawnAtClient("env", `NETOPS_TOKEN=${token}`, ...cli, "ingest", "--interface", device)
        yield* until("both captures have begun", async () =>
          await packetSockets(network.clientNamespace) === 2 || undefined)

        const load = { clients: 10, rate: 40, seconds: 3 }
        yield* Effect.promise(() =>
          Promise.all([network.perfdhcp(4, load), network.perfdhcp(6, load)])
        )
        yield* Effect.sleep("300 millis")
        yield* stop(tcpdump)
        const counted = countOf(path)
        assert.isAbove(counted.packets, 400)

        const rule = { name: "everyone", threshold: { min_requests: 1 }, lookback_minutes: 10 }
        const activity = yield* until("the preview has what tshark counts", async () => {
          const { data } = await curl("/api/automation/rules/test-preview", token, rule) as Detected
          const seen = Object.fromEntries(data.DetectedMacs.map((row) => [
            `${row["Protocol"]} ${row["MAC"]}`,
            { requests: row["TotalRequests"], unique_ips: row["UniqueIPs"] }
          ]))
          const requests = (of: object) =>
            Object.values(of).reduce((sum: number, client: { requests: number }) => sum + client.requests, 0)
          return requests(seen) >= requests(counted.activity) ? seen : undefined
        })
        assert.deepStrictEqual(activity, counted.activity)
        yield* stop(ingest)
        yield* stop(server)
      }),
    60_000
  )
})
