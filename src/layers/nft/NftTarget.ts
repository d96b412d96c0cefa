import { Config, type ConfigError, type Duration, Effect, Option } from "effect"
import { access } from "node:fs/promises"
import { type NftTargetName, NftUnavailable } from "../../services/Nft.ts"
import { capabilities, type Capability } from "./capabilities.ts"
import { makeSandbox } from "./Sandbox.ts"

/** Where nft runs, and how to get there. */
export interface NftTarget {
  readonly name: NftTargetName
  /** Whether the operator named it: then it must work from the start. */
  readonly chosen: boolean
  /** The argument vector that runs a program there, empty for here. */
  readonly enter: Effect.Effect<ReadonlyArray<string>, NftUnavailable>
  /** The place in words, for the log. */
  readonly place: Effect.Effect<string, NftUnavailable>
}

const netnsName = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,255}$/

const setting = Config.option(Config.nonEmptyString("NETOPS_NFT_TARGET"))

const requireCapabilities = (subject: string, needed: ReadonlyArray<Capability>) =>
  Effect.flatMap(capabilities, (held) => {
    const missing = needed.filter((name) => !held.has(name)).map((name) => `CAP_${name}`)
    if (missing.length === 0) return Effect.void
    const reason = `${subject} needs ${missing.join(" and ")}; run as root or set AmbientCapabilities`
    return new NftUnavailable({ reason })
  })

const host: NftTarget = {
  name: { kind: "host", name: "host" },
  chosen: true,
  enter: Effect.as(requireCapabilities("NETOPS_NFT_TARGET=host", ["NET_ADMIN"]), []),
  place: Effect.succeed("host's own network namespace")
}

const netns = (name: string): NftTarget => {
  const path = `/run/netns/${name}`
  const subject = `NETOPS_NFT_TARGET=netns:${name}`
  const exists = Effect.tryPromise({
    try: () => access(path),
    catch: () => new NftUnavailable({ reason: `${subject} needs the network namespace ${path}, which isn't there` })
  })
  return {
    name: { kind: "netns", name },
    chosen: true,
    enter: requireCapabilities(subject, ["NET_ADMIN", "SYS_ADMIN"]).pipe(
      Effect.zipRight(exists),
      Effect.as(["nsenter", `--net=${path}`, "--"])
    ),
    place: Effect.succeed(`network namespace ${name}`)
  }
}

const sandbox = (
  chosen: boolean,
  options: { readonly dataDir: string; readonly path: string; readonly timeout: Duration.Duration }
) =>
  Effect.gen(function*() {
    const holder = yield* makeSandbox(options)
    const logged = Effect.tap(holder, ({ created, pid }) =>
      created
        ? Effect.logInfo(`nft: new sandbox network namespace with an empty ruleset, held by pid ${pid}`)
        : Effect.void)
    const linux = process.platform === "linux"
      ? logged
      : Effect.fail(new NftUnavailable({ reason: `nft needs Linux, this is ${process.platform}` }))
    return {
      name: { kind: "sandbox", name: "sandbox" },
      chosen,
      enter: Effect.map(linux, ({ enter }) => enter),
      place: Effect.map(linux, ({ pid }) => `sandbox network namespace held by pid ${pid}`)
    } satisfies NftTarget
  })

/** The target that `NETOPS_NFT_TARGET` names: `sandbox` (also when unset), `host` or `netns:NAME`. */
export const nftTarget = (options: {
  readonly dataDir: string
  readonly path: string
  readonly timeout: Duration.Duration
}): Effect.Effect<NftTarget, NftUnavailable | ConfigError.ConfigError> =>
  Effect.gen(function*() {
    const chosen = yield* setting
    if (Option.isNone(chosen)) return yield* sandbox(false, options)
    if (chosen.value === "sandbox") return yield* sandbox(true, options)
    if (chosen.value === "host") return host
    const name = chosen.value.startsWith("netns:") ? chosen.value.slice("netns:".length) : ""
    if (netnsName.test(name)) return netns(name)
    return yield* new NftUnavailable({
      reason: "NETOPS_NFT_TARGET is none of sandbox, host and netns:NAME with the name of a network namespace"
    })
  })
