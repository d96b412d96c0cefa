import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { compare, type Result } from "./harness.ts"
import type { Service } from "./service.ts"

const exec = promisify(execFile)

const ruleset = (elements: number) => {
  const at = { family: "inet", table: "bench" }
  const elem = Array.from({ length: elements }, (_, n) => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`)
  const left = { payload: { protocol: "ip", field: "saddr" } }
  return {
    nftables: [
      { add: { table: { family: "inet", name: "bench" } } },
      { add: { set: { ...at, name: "s", type: "ipv4_addr" } } },
      { add: { element: { ...at, name: "s", elem } } },
      { add: { chain: { ...at, name: "in", type: "filter", hook: "input", prio: 0, policy: "accept" } } },
      { add: { rule: { ...at, chain: "in", expr: [{ match: { op: "==", left, right: "@s" } }, { drop: null }] } } }
    ]
  }
}

/** Validate and apply beside bare nft on the same ruleset, each in a namespace of its own. */
export const firewall = async (service: Service): Promise<ReadonlyArray<Result>> => {
  const directory = await mkdtemp(join(tmpdir(), "netops-bench-nft-"))
  const holder = Number.parseInt(await readFile(join(service.directory, "nft", "sandbox"), "utf8"), 10)
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${service.url}/api/v1/nftables/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.token}`, "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    const value = await answer.json() as { readonly id: string; readonly valid?: boolean }
    if (!answer.ok || value.valid === false) throw new Error(JSON.stringify(value).slice(0, 500))
    return value
  }
  const results: Array<Result> = []
  for (const elements of [1_000, 10_000, 100_000]) {
    const file = join(directory, `${elements}.json`)
    const { nftables } = ruleset(elements)
    const flushes = [
      { flush: { chain: { family: "inet", table: "bench", name: "in" } } },
      { flush: { set: { family: "inet", table: "bench", name: "s" } } }
    ]
    const [first, set, element, chain, rule] = nftables
    await writeFile(file, JSON.stringify({ nftables: [first, set, chain, ...flushes, element, rule] }))
    // The same namespace as the service's own, which nothing else uses meanwhile.
    const bare = (...flags: ReadonlyArray<string>) =>
      exec("nsenter", [`--net=/proc/${holder}/ns/net`, "--", "nft", "-j", ...flags, "-f", file])
    results.push(
      await compare({
        title: `nft validate, ${elements} elements`,
        ours: { name: "validate", run: async () => void await post("config/validate", { nftables }) },
        peer: { name: "nft -j -c", run: async () => void await bare("-c") },
        target: "bare + 15 ms; at 100 000 1.15 x + 15 ms"
      })
    )
    const { id } = await post("configs", { name: `bench ${elements}`, ruleset: { nftables } })
    results.push(
      await compare({
        title: `nft apply, ${elements} elements`,
        ours: { name: "apply", run: async () => void await post(`configs/${id}/apply`, { adopt: true }) },
        peer: { name: "nft -j -f", run: async () => void await bare() },
        target: "bare + 25 ms; at 100 000 1.5 x"
      })
    )
    await fetch(`${service.url}/api/v1/nftables/configs/${id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${service.token}` }
    })
  }
  await rm(directory, { recursive: true, force: true })
  return results
}
