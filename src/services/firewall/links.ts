import type { RulesetError } from "../../schema/FirewallConfig.ts"
import { declarations, type Declared, isJson, tableOf } from "./commands.ts"
import { mentions, targets } from "./warnings.ts"

/** Most chains that a packet may be in at once; the kernel refuses more, and with it every circle. */
const chainsMax = 16

const mapsOf = (rule: Declared): ReadonlyArray<string> => {
  const found: Array<string> = []
  mentions(rule.body["expr"], ({ vmap }) => {
    if (isJson(vmap) && typeof vmap["data"] === "string") found.push(vmap["data"].replace(/^@/, ""))
    return false
  })
  return found
}

/** Whether packets may get into more chains at once than the kernel allows, from a base chain on. */
const isTooDeep = (objects: ReadonlyArray<Declared>): boolean => {
  const jumps = new Map<string, Set<string>>()
  const verdicts = new Map<string, Set<string>>()
  const lookups: Array<{ readonly chain: string; readonly map: string }> = []
  const bases: Array<string> = []
  const reach = (from: Map<string, Set<string>>, key: string, names: Iterable<string>) => {
    const known = from.get(key) ?? new Set()
    from.set(key, known)
    for (const name of names) known.add(name)
  }
  for (const object of objects) {
    const { body, kind } = object
    const inTable = (name: unknown) => `${tableOf(object)} ${String(name)}`
    if (kind === "chain" && body["hook"] !== undefined) bases.push(inTable(body["name"]))
    if (kind === "map" || kind === "element") {
      reach(verdicts, inTable(body["name"]), targets(body["elem"]).map(inTable))
    }
    if (kind !== "rule") continue
    const chain = inTable(body["chain"])
    reach(jumps, chain, targets(body["expr"]).map(inTable))
    for (const map of mapsOf(object)) lookups.push({ chain, map: inTable(map) })
  }
  for (const { chain, map } of lookups) reach(jumps, chain, verdicts.get(map) ?? [])
  let reached: ReadonlySet<string> = new Set(bases)
  for (let links = 0; links < chainsMax && reached.size > 0; links++) {
    reached = new Set([...reached].flatMap((chain) => [...jumps.get(chain) ?? []]))
  }
  return reached.size > 0
}

/** What nft accepts when it checks, and the kernel refuses when it commits: the command with which jumps get too deep. */
export const linkErrors = (commands: ReadonlyArray<unknown>): ReadonlyArray<RulesetError> => {
  const objects = declarations(commands)
  if (!isTooDeep(objects)) return []
  let [fine, deep] = [0, objects.length]
  while (deep - fine > 1) {
    const probe = (fine + deep) >> 1
    if (isTooDeep(objects.slice(0, probe))) deep = probe
    else fine = probe
  }
  const pointer = objects[deep - 1]!.pointer.split("/").slice(0, 4).join("/")
  const message = `Too many links: chains jump in a circle, or more than ${chainsMax} of them deep`
  return [{ source: "nft", pointer, message }]
}
