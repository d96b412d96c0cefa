import { asciiLower } from "../schema/Ascii.ts"
import type { FilterGroup, FilterRule, IpRule, NumberRule, TextRule, TimeRule } from "../schema/Filter.ts"
import { compileRegex } from "../schema/FilterValue.ts"
import { parseCidr } from "../schema/Ip.ts"

/** How the fields of a table are read from a record; an absent value is `undefined`. */
export type FieldReaders<Record, Field extends string> = {
  readonly [F in Field]: (record: Record) => string | number | undefined
}

type Test<Value> = (value: Value) => boolean

const identity = (text: string): string => text

const textTest = ({ kind, op, values }: TextRule): Test<string> => {
  // MACs, DUIDs and clients are canonical on both sides
  const fold = kind === "text" || kind === "enum" ? asciiLower : identity
  const wanted = fold(values[0]!)
  switch (op) {
    case "eq":
    case "ne":
      return (text) => fold(text) === wanted
    case "in":
    case "not_in": {
      const set = new Set(values.map(fold))
      return (text) => set.has(fold(text))
    }
    case "contains":
      return (text) => fold(text).includes(wanted)
    case "starts_with":
      return (text) => fold(text).startsWith(wanted)
    case "ends_with":
      return (text) => fold(text).endsWith(wanted)
    case "oui": {
      const set = new Set(values)
      return (mac) => set.has(mac.slice(0, 8))
    }
    case "regex": {
      const regex = compileRegex(values[0]!)
      return (text) => regex.test(text)
    }
  }
}

const orderTest = <Value extends string | number>(
  { op, values }: { readonly op: (NumberRule | TimeRule)["op"]; readonly values: ReadonlyArray<Value> }
): Test<Value> => {
  const first = values[0]!
  switch (op) {
    case "eq":
    case "ne":
      return (value) => value === first
    case "in":
    case "not_in": {
      const set = new Set(values)
      return (value) => set.has(value)
    }
    case "gt":
      return (value) => value > first
    case "gte":
      return (value) => value >= first
    case "lt":
      return (value) => value < first
    case "lte":
      return (value) => value <= first
    case "between": {
      const last = values[1]!
      return (value) => value >= first && value <= last
    }
  }
}

/** The number of a canonical dotted quad. */
const quadOf = (text: string): number => {
  let quad = 0
  let octet = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 46) {
      quad = quad * 256 + octet
      octet = 0
    } else octet = octet * 10 + code - 48
  }
  return quad * 256 + octet
}

/** The eight groups of a canonical IPv6 address. */
const groupsOf = (text: string): ReadonlyArray<number> => {
  const groups = [0, 0, 0, 0, 0, 0, 0, 0]
  let at = 0
  let gap = -1
  let group = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code !== 58) {
      group = group * 16 + (code < 58 ? code - 48 : code - 87)
    } else if (text.charCodeAt(i + 1) !== 58) {
      groups[at++] = group
      group = 0
    } else {
      if (i > 0) groups[at++] = group
      group = 0
      gap = at
      i++
    }
  }
  groups[at++] = group
  if (gap < 0) return groups
  const tail = at - gap
  for (let i = 1; i <= tail; i++) groups[8 - i] = groups[at - i]!
  return groups.fill(0, gap, 8 - tail)
}

const within = (value: ReadonlyArray<number>, first: ReadonlyArray<number>, last: ReadonlyArray<number>): boolean => {
  for (let i = 0; i < 8; i++) {
    // groups above the prefix are equal in first and last, those below it all 0 and all ones
    if (value[i]! < first[i]! || value[i]! > last[i]!) return false
  }
  return true
}

const numbersOf = (octets: ReadonlyArray<number>): ReadonlyArray<number> =>
  Array.from({ length: 8 }, (_, i) => octets[2 * i]! * 256 + octets[2 * i + 1]!)

const cidrTest = (networks: ReadonlyArray<string>): Test<string> => {
  const ranges = networks.map((network) => {
    const range = parseCidr(network)!
    return { isV6: network.includes(":"), first: numbersOf(range.first), last: numbersOf(range.last) }
  })
  const quads = ranges.filter(({ isV6 }) => !isV6).map(({ first, last }) => ({
    first: first[6]! * 65_536 + first[7]!,
    last: last[6]! * 65_536 + last[7]!
  }))
  const sixes = ranges.filter(({ isV6 }) => isV6)
  return (ip) => {
    if (!ip.includes(":")) {
      const quad = quadOf(ip)
      return quads.some(({ first, last }) => quad >= first && quad <= last)
    }
    if (sixes.length === 0) return false
    const groups = groupsOf(ip)
    return sixes.some(({ first, last }) => within(groups, first, last))
  }
}

const ipTest = ({ op, values }: IpRule): Test<string> => {
  const wanted = values[0]!
  switch (op) {
    case "eq":
    case "ne":
      return (ip) => ip === wanted
    case "in":
    case "not_in": {
      const set = new Set(values)
      return (ip) => set.has(ip)
    }
    case "cidr":
      return cidrTest(values)
  }
}

const testOf = (rule: FilterRule): Test<never> => {
  switch (rule._tag) {
    case "Text":
      return textTest(rule)
    case "Ip":
      return ipTest(rule)
    case "Number":
      return orderTest<number>(rule)
    case "Time":
      return orderTest<string>(rule)
    case "Exists":
      return () => true
  }
}

const isAbsent = (value: string | number | undefined): value is undefined | "" => value === undefined || value === ""
const isUnspecified = (value: string | number | undefined): boolean =>
  isAbsent(value) || value === "::" || value === "0.0.0.0"

type Predicate<Record> = (record: Record) => boolean

const compileRule = <Record>(
  rule: FilterRule,
  read: (record: Record) => string | number | undefined
): Predicate<Record> => {
  const absent = rule.kind === "ip" ? isUnspecified : isAbsent
  const test = testOf(rule) as Test<string | number>
  const inverse = rule.op === "ne" || rule.op === "not_in" || (rule._tag === "Exists" && !rule.values[0])
  if (inverse !== rule.negate) {
    return (record) => {
      const value = read(record)
      return absent(value) || !test(value!)
    }
  }
  return (record) => {
    const value = read(record)
    return !absent(value) && test(value!)
  }
}

const compileGroup = <Record, Field extends string>(
  group: FilterGroup<Field>,
  readers: FieldReaders<Record, Field>
): Predicate<Record> => {
  const members = group.rules.map((member) =>
    member._tag === "Group" ? compileGroup(member, readers) : compileRule(member, readers[member.field])
  )
  const [first, second] = members
  if (first === undefined) return () => true
  if (second === undefined) return first
  if (group.match === "all") {
    return (record) => {
      for (const member of members) if (!member(record)) return false
      return true
    }
  }
  return (record) => {
    for (const member of members) if (member(record)) return true
    return false
  }
}

/** Compiles a filter once into closures over its constants: a test for single records, linear in the text's length. */
export const compileFilterPredicate = <Record, Field extends string>(
  filter: FilterGroup<Field>,
  readers: FieldReaders<Record, Field>
): (record: Record) => boolean => compileGroup(filter, readers)
