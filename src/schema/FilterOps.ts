/** Limits that hold for every filter, whatever it is used for. */
export const filterLimits = {
  /** rules in all groups together */
  rules: 50,
  /** levels of groups, the outermost one included */
  depth: 4,
  /** values in one list */
  values: 1000,
  /** UTF-16 units of a text value */
  text: 1024,
  /** UTF-16 units of a regular expression */
  regex: 256,
  /** instructions of a compiled regular expression: larger ones the C++ RE2 may refuse within its memory limit */
  regexProgram: 300,
  /** problems reported of one filter */
  issues: 1000
} as const

/**
 * What a field holds: decides its ops and the form of its values. `client` is a MAC or, where there is none, a DUID.
 * Values of an enum are texts.
 */
export type FieldKind = "time" | "mac" | "duid" | "client" | "text" | "ip" | "number" | {
  readonly enum: ReadonlyArray<string>
}
export type KindName = Extract<FieldKind, string> | "enum"

/** The fields that rules of one use may name. */
export type FieldTable = Readonly<Record<string, FieldKind>>

export const kindName = (kind: FieldKind): KindName => typeof kind === "string" ? kind : "enum"

const equality = ["eq", "ne", "in", "not_in"] as const
const order = [...equality, "gt", "gte", "lt", "lte", "between"] as const
const textual = [...equality, "contains", "starts_with", "ends_with", "regex"] as const

export type OrderOp = (typeof order)[number]
export type IpOp = (typeof equality)[number] | "cidr"
export type TextOp = (typeof textual)[number] | "oui"
export type FilterOp = OrderOp | IpOp | TextOp | "exists"

/** The ops that a kind of field takes. */
export const opsOf: Readonly<Record<KindName, ReadonlyArray<FilterOp>>> = {
  time: [...order, "exists"],
  number: [...order, "exists"],
  ip: [...equality, "cidr", "exists"],
  mac: [...textual, "oui", "exists"],
  duid: [...textual, "exists"],
  client: [...textual, "exists"],
  text: [...textual, "exists"],
  enum: [...textual, "exists"]
}

/** How many values an op takes: `value`, `values`, either of both, or the two of `between`. */
export const arityOf = (op: FilterOp): "one" | "many" | "either" | "pair" => {
  switch (op) {
    case "in":
    case "not_in":
      return "many"
    case "oui":
    case "cidr":
      return "either"
    case "between":
      return "pair"
    default:
      return "one"
  }
}
