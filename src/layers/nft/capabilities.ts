import { Effect } from "effect"
import { readFile } from "node:fs/promises"

/** The capabilities that matter to nft and their bits (linux/capability.h). */
const bits = { NET_ADMIN: 12n, SYS_ADMIN: 21n } as const

export type Capability = keyof typeof bits

/** The effective capabilities of this process; none where there is no /proc. */
export const capabilities: Effect.Effect<ReadonlySet<Capability>> = Effect.tryPromise(() =>
  readFile("/proc/self/status", "utf8")
).pipe(
  Effect.map((status) => {
    const mask = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`)
    const names = Object.keys(bits) as Array<Capability>
    return new Set(names.filter((name) => (mask >> bits[name]) & 1n))
  }),
  Effect.orElseSucceed(() => new Set<Capability>())
)

/** The option by which unshare makes a network namespace: with one of users around it where we aren't privileged. */
export const unshareFlag = Effect.map(
  capabilities,
  (held) => held.has("SYS_ADMIN") && held.has("NET_ADMIN") ? "-n" : "-rn"
)
