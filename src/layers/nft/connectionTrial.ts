import { type Duration, Effect, Option } from "effect"
import { isIPv6 } from "node:net"
import { networkInterfaces } from "node:os"
import { canonicalIp } from "../../schema/Ip.ts"
import type { NftCommandObject } from "../../schema/Nftables.ts"
import type { Connection } from "../../services/Nft.ts"
import { unshareFlag } from "./capabilities.ts"
import { runTool } from "./runTool.ts"
import { encodeTransaction, withInputFile } from "./transaction.ts"
import { trialScript } from "./trialScript.ts"

/** Counts what reaches the port at the very end of the input hook. */
const gauge = (port: number): ReadonlyArray<NftCommandObject> => {
  const at = { family: "inet", table: "netops_trial" }
  const dport = { payload: { protocol: "tcp", field: "dport" } }
  return [
    { add: { table: { family: "inet", name: "netops_trial" } } },
    { add: { counter: { ...at, name: "reached" } } },
    { add: { chain: { ...at, name: "end", type: "filter", hook: "input", prio: 2_147_483_647, policy: "accept" } } },
    {
      add: {
        rule: {
          ...at,
          chain: "end",
          expr: [{ match: { op: "==", left: dport, right: port } }, { counter: "reached" }]
        }
      }
    }
  ]
}

/** The interface by which a connection comes in, by the name that rules know it by; `lo` within this host. */
const deviceOf = ({ from, to }: Connection): string => {
  const holders = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.map(({ address }) => ({ name, address: canonicalIp(address) }))
  )
  if (from === to || holders.some(({ address }) => address === from)) return "lo"
  const name = holders.find(({ address }) => address === to)?.name
  return name !== undefined && name !== "lo" && /^[A-Za-z0-9_.-]{1,15}$/.test(name) ? name : "eth0"
}

/**
 * Whether a new connection like this one comes through these commands, in a pair of network namespaces that are then
 * gone, joined by a pair of interfaces that have its addresses; none where that can't be tried.
 */
export const connectionTrial = (
  commands: ReadonlyArray<NftCommandObject>,
  connection: Connection,
  options: { readonly directory: string; readonly path: string; readonly timeout: Duration.Duration }
): Effect.Effect<Option.Option<boolean>> =>
  Effect.gen(function*() {
    const { from, port, to } = connection
    const flag = yield* unshareFlag
    const candidate = yield* encodeTransaction([...commands, ...gauge(port)])
    const bare = yield* encodeTransaction(gauge(port))
    const length = isIPv6(to) ? "128" : "32"
    const { stdout } = yield* withInputFile(options.directory, candidate, (file) =>
      withInputFile(options.directory, bare, (bareFile) => {
        const args = [file, bareFile, deviceOf(connection), from, to, String(port), length]
        return runTool(["unshare", flag, "--", "sh", "-c", trialScript, "netops-trial", ...args], options)
      }))
    return stdout === "passes\n" ? Option.some(true) : stdout === "refused\n" ? Option.some(false) : Option.none()
  }).pipe(Effect.orElseSucceed(Option.none))
