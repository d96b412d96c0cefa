import { Effect } from "effect"
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

/** What `keaNetwork` needs installed; for `liveSuite`. */
export const keaRequirements = ["ip", "kea-dhcp4", "kea-dhcp6", "perfdhcp"]

/** Which of the tools are missing, empty when all are there. */
export const available = (): ReadonlyArray<string> =>
  keaRequirements.filter((tool) => spawnSync("which", [tool], { stdio: "ignore" }).status !== 0)

const run = promisify(execFile)

/** How many simulated clients ask, how often a second all together, and for how long. */
export interface Load {
  readonly clients: number
  readonly rate: number
  readonly seconds: number
}

/** Two network namespaces joined by a veth pair: Kea answers in one, perfdhcp asks in the other. */
export interface KeaNetwork {
  readonly serverNamespace: string
  readonly clientNamespace: string
  readonly serverInterface: string
  readonly clientInterface: string
  /** A directory that goes with the network. */
  readonly directory: string
  /** Runs perfdhcp to its end and gives its report. */
  readonly perfdhcp: (family: 4 | 6, load: Load) => Promise<string>
  /** Starts a program in the client's namespace; it is ended with the network at the latest. */
  readonly spawnAtClient: (program: string, ...args: ReadonlyArray<string>) => ChildProcess
}

const serverInterface = "server0"
const clientInterface = "client0"
const startTimeout_ms = 8000
let networks = 0

const loggers = (name: string) =>
  [[name, "WARN"], [`${name}.${name.slice(4)}`, "INFO"]].map(([logger, severity]) => ({
    name: logger,
    severity,
    output_options: [{ output: "stdout" }]
  }))

/** Leases and the server's DUID are kept in memory: Kea's Debian build would put them below /var/lib/kea. */
const common = {
  "interfaces-config": { interfaces: [serverInterface] },
  "lease-database": { type: "memfile", persist: false },
  "valid-lifetime": 3600
}
const configurations = {
  "kea-dhcp4": {
    Dhcp4: {
      ...common,
      subnet4: [{
        id: 1,
        subnet: "10.66.0.0/16",
        interface: serverInterface,
        pools: [{ pool: "10.66.1.1 - 10.66.250.250" }]
      }],
      loggers: loggers("kea-dhcp4")
    }
  },
  "kea-dhcp6": {
    Dhcp6: {
      ...common,
      "server-id": { type: "EN", "enterprise-id": 32473, identifier: "0102030405", persist: false },
      subnet6: [{
        id: 1,
        subnet: "2001:db8:1::/64",
        interface: serverInterface,
        pools: [{ pool: "2001:db8:1::1:0 - 2001:db8:1::ffff:ffff" }]
      }],
      loggers: loggers("kea-dhcp6")
    }
  }
}

const ended = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const startKea = async (): Promise<KeaNetwork & { readonly stop: () => Promise<void> }> => {
  const directory = mkdtempSync(join(tmpdir(), "netops-kea-"))
  const id = `netops-${process.pid}-${networks++}`
  const [serverNamespace, clientNamespace] = [`${id}-s`, `${id}-c`]
  const children: Array<ChildProcess> = []

  const remove = () => {
    for (const child of children) if (!ended(child)) child.kill("SIGKILL")
    for (const namespace of [serverNamespace, clientNamespace]) {
      spawnSync("ip", ["netns", "delete", namespace], { stdio: "ignore" })
    }
    rmSync(directory, { recursive: true, force: true })
  }
  process.once("exit", remove)

  const stop = async () => {
    for (const child of children) if (!ended(child)) child.kill("SIGTERM")
    for (let waited = 0; waited < 2000 && !children.every(ended); waited += 50) await sleep(50)
    remove()
    process.off("exit", remove)
  }

  const inNamespace = (namespace: string, program: string, args: ReadonlyArray<string>, env: object = {}) => {
    const child = spawn("ip", ["netns", "exec", namespace, program, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env }
    })
    children.push(child)
    return child
  }

  const link = async (namespace: string, name: string, four: string, six: string) => {
    await run("ip", ["netns", "exec", namespace, "sysctl", "-qw", `net.ipv6.conf.${name}.accept_dad=0`])
    await run("ip", ["-n", namespace, "address", "add", four, "dev", name])
    await run("ip", ["-n", namespace, "address", "add", six, "dev", name, "nodad"])
    await run("ip", ["-n", namespace, "link", "set", name, "up"])
  }

  const serve = async (program: keyof typeof configurations) => {
    const path = join(directory, `${program}.json`)
    writeFileSync(path, JSON.stringify(configurations[program]))
    const server = inNamespace(serverNamespace, program, ["-c", path], {
      KEA_PIDFILE_DIR: directory,
      KEA_LOCKFILE_DIR: directory,
      KEA_DHCP_DATA_DIR: directory,
      KEA_LOG_FILE_DIR: directory
    })
    let log = ""
    for (const output of [server.stdout, server.stderr]) {
      output!.on("data", (chunk) => log = `${log}${chunk}`.slice(-20_000))
    }
    for (let waited = 0; !/DHCP[46]_STARTED/.test(log); waited += 50) {
      if (ended(server) || waited > startTimeout_ms) throw new Error(`${program} didn't start: ${log}`)
      await sleep(50)
    }
  }

  try {
    await run("ip", ["netns", "add", serverNamespace])
    await run("ip", ["netns", "add", clientNamespace])
    const [left, right] = [[serverInterface, "netns", serverNamespace], [clientInterface, "netns", clientNamespace]]
    await run("ip", ["link", "add", ...left, "type", "veth", "peer", "name", ...right])
    await link(serverNamespace, serverInterface, "10.66.0.1/16", "2001:db8:1::1/64")
    await link(clientNamespace, clientInterface, "10.66.0.2/16", "2001:db8:1::2/64")
    await Promise.all([serve("kea-dhcp4"), serve("kea-dhcp6")])
  } catch (error) {
    await stop()
    throw error
  }

  return {
    serverNamespace,
    clientNamespace,
    serverInterface,
    clientInterface,
    directory,
    stop,
    spawnAtClient: (program, ...args) => inNamespace(clientNamespace, program, args),
    perfdhcp: (family, { clients, rate, seconds }) =>
      new Promise((resolve, reject) => {
        const options = [`-${family}`, "-l", clientInterface, "-r", rate, "-R", clients, "-p", seconds].map(String)
        const child = inNamespace(clientNamespace, "perfdhcp", family === 4 ? [...options, "10.66.0.1"] : options)
        let report = ""
        for (const output of [child.stdout, child.stderr]) output!.on("data", (chunk) => report += String(chunk))
        // perfdhcp exits 3 when an answer was still outstanding at its end.
        child.on("close", (code) => code === 0 || code === 3 ? resolve(report) : reject(new Error(report)))
      })
  }
}

/** A Kea network for the scope's life; nothing of it is left afterwards, also when the start fails midway. */
export const keaNetwork = Effect.acquireRelease(
  Effect.promise(startKea),
  (network) => Effect.promise(network.stop)
)

/** How many packet sockets are open in a namespace: how a test knows that a capture has begun. */
export const packetSockets = async (namespace: string): Promise<number> => {
  const { stdout } = await run("ip", ["netns", "exec", namespace, "cat", "/proc/net/packet"])
  return stdout.trimEnd().split("\n").length - 1
}
