import { Effect } from "effect"
import { execFile } from "node:child_process"
import { randomInt } from "node:crypto"
import { promisify } from "node:util"

const exec = promisify(execFile)

export interface Netns {
  readonly name: string
  /** Runs a program inside and answers what it printed. */
  readonly run: (file: string, ...args: ReadonlyArray<string>) => Effect.Effect<string>
}

const run = (file: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => (await exec(file, args, { maxBuffer: 64 * 1024 * 1024 })).stdout)

/** A network namespace with its loopback up, gone when the scope closes. */
export const netns = Effect.acquireRelease(
  Effect.gen(function*() {
    const name = `netops-${process.pid}-${randomInt(1e9).toString(36)}`
    yield* run("ip", "netns", "add", name)
    const inside: Netns["run"] = (file, ...args) => run("ip", "netns", "exec", name, file, ...args)
    yield* inside("ip", "link", "set", "lo", "up")
    return { name, run: inside } satisfies Netns
  }),
  ({ name }) => run("ip", "netns", "delete", name)
)

/** Connects a namespace with this one by a veth pair of its own network: the addresses here and there. */
export const vethTo = ({ name, run: inside }: Netns) =>
  Effect.gen(function*() {
    const [x, y] = [randomInt(256), randomInt(64) * 4]
    const [here, there] = [`10.213.${x}.${y + 1}`, `10.213.${x}.${y + 2}`]
    const tag = randomInt(1e9).toString(36)
    const [near, far] = [`na${tag}`, `nb${tag}`]
    yield* Effect.acquireRelease(
      run("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name),
      () => Effect.ignore(run("ip", "link", "delete", near))
    )
    yield* run("ip", "address", "add", `${here}/30`, "dev", near)
    yield* run("ip", "link", "set", near, "up")
    yield* inside("ip", "address", "add", `${there}/30`, "dev", far)
    yield* inside("ip", "link", "set", far, "up")
    return { here, there, far }
  })
