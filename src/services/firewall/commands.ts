/** A JSON object as nft takes it. */
export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What `add` takes and a listing shows. */
export const objectKinds = [
  "table",
  "chain",
  "rule",
  "set",
  "map",
  "element",
  "flowtable",
  "counter",
  "quota",
  "limit",
  "ct helper",
  "ct timeout",
  "ct expectation",
  "secmark",
  "synproxy",
  "tunnel"
] as const
export type ObjectKind = typeof objectKinds[number]

export const isObjectKind = (kind: string): kind is ObjectKind => (objectKinds as ReadonlyArray<string>).includes(kind)

/** One object that a ruleset declares, and where it says so. */
export interface Declared {
  readonly kind: ObjectKind
  readonly body: Json
  /** RFC 6901 pointer of `body`. */
  readonly pointer: string
}

const escape = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1")

export const pointerTo = (base: string, ...keys: ReadonlyArray<string | number>): string =>
  base + keys.map((key) => `/${escape(String(key))}`).join("")

/** The object that one command of a declarative ruleset declares, `undefined` for anything else. */
export const declaredBy = (command: unknown, index: number): Declared | undefined => {
  if (!isJson(command)) return undefined
  const [[verb, inner] = ["", undefined], ...rest] = Object.entries(command)
  if (rest.length > 0) return undefined
  const base = pointerTo("/nftables", index, verb)
  if (verb !== "add") {
    return isObjectKind(verb) && isJson(inner) ? { kind: verb, body: inner, pointer: base } : undefined
  }
  if (!isJson(inner)) return undefined
  const [[kind, body] = ["", undefined], ...more] = Object.entries(inner)
  return more.length === 0 && isObjectKind(kind) && isJson(body)
    ? { kind, body, pointer: pointerTo(base, kind) }
    : undefined
}

/** All that a ruleset or a listing declares, in order. */
export const declarations = (commands: ReadonlyArray<unknown>): ReadonlyArray<Declared> =>
  commands.flatMap((command, index) => declaredBy(command, index) ?? [])

/** The table that an object is or is in, as `family name`. */
export const tableOf = ({ body, kind }: Pick<Declared, "kind" | "body">): string =>
  `${String(body["family"])} ${String(body[kind === "table" ? "name" : "table"])}`

/** The tables that a ruleset names, in order. */
export const tablesOf = (commands: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...new Set(declarations(commands).map(tableOf))
]

/** A table as commands name it. */
export const tableBody = (table: string): { readonly family: string; readonly name: string } => {
  const at = table.indexOf(" ")
  return { family: table.slice(0, at), name: table.slice(at + 1) }
}
