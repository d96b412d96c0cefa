import { Schema } from "effect"
import { arityOf, type FieldKind, type FieldTable, filterLimits, type FilterOp, kindName, opsOf } from "./FilterOps.ts"

const about: Readonly<Record<ReturnType<typeof kindName>, string>> = {
  time: "RFC 3339 times, compared by the millisecond",
  number: "numbers",
  ip: "IPv4 or IPv6 addresses; cidr takes networks",
  mac: "MAC addresses in any common notation or parts of them; oui takes the first three octets",
  duid: "DUIDs in hex or parts of them",
  client: "MAC addresses or DUIDs, or parts of them",
  text: "text, compared without regard to the case of ASCII letters but in regex (RE2, not anchored)",
  enum: "one of the words of the field; parts of them in the text ops"
}

type Value = Schema.Schema<string> | Schema.Schema<number> | Schema.Schema<boolean>

const valueOf = (kind: FieldKind, op: FilterOp): Value =>
  op === "exists" ? Schema.Boolean : kind === "number" ? Schema.Number : Schema.String

const variant = (kind: FieldKind, fields: ReadonlyArray<string>, ops: ReadonlyArray<FilterOp>) => {
  const arity = arityOf(ops[0]!)
  const value = valueOf(kind, ops[0]!)
  const values = Schema.Array<Schema.Schema.AnyNoContext>(value).pipe(
    Schema.minItems(arity === "pair" ? 2 : 1),
    Schema.maxItems(arity === "pair" ? 2 : filterLimits.values)
  )
  const name = kindName(kind)
  return Schema.Struct({
    field: Schema.Literal(...fields),
    op: Schema.Literal(...ops),
    ...(arity === "one" && ops[0] !== "exists" ? { value } : {}),
    ...(ops[0] === "exists" || arity === "either" ? { value: Schema.optionalWith(value, { exact: true }) } : {}),
    ...(arity === "many" || arity === "pair" ? { values } : {}),
    ...(arity === "either" ? { values: Schema.optionalWith(values, { exact: true }) } : {}),
    negate: Schema.optionalWith(Schema.Boolean, { exact: true })
  }).annotations({ description: ops[0] === "exists" ? "whether the field is present" : about[name] })
}

const shapeOf = (op: FilterOp): string => op === "exists" ? op : arityOf(op)

/** One object shape for each kind of field and number of values; fields of one kind share it. */
const ruleVariants = (fields: FieldTable) => {
  const byKind = new Map<string, { readonly kind: FieldKind; readonly names: Array<string> }>()
  for (const [field, kind] of Object.entries(fields)) {
    const key = kindName(kind)
    const known = byKind.get(key)
    if (known === undefined) byKind.set(key, { kind, names: [field] })
    else known.names.push(field)
  }
  const valued = [...byKind.values()].flatMap(({ kind, names }) => {
    const ops = opsOf[kindName(kind)].filter((op) => op !== "exists")
    return [...new Set(ops.map(shapeOf))].map((shape) =>
      variant(kind, names, ops.filter((op) => shapeOf(op) === shape))
    )
  })
  return [...valued, variant("text", Object.keys(fields), ["exists"])]
}

/**
 * What the OpenAPI document shows of a filter: shapes, fields and ops. Normalisation and the limits over the whole
 * tree can't be said there.
 */
export const documentFilter = (identifier: string, fields: FieldTable, nonEmpty: boolean): Schema.Schema.Any => {
  const rule = Schema.Union(...ruleVariants(fields)).annotations({ identifier: `${identifier}Rule` })
  const member = Schema.Union(rule, Schema.suspend((): Schema.Schema.AnyNoContext => nested))
  const members = Schema.Array(member).pipe(Schema.maxItems(filterLimits.rules))
  const group = (name: string, mayBeEmpty: boolean) =>
    Schema.Struct({
      match: Schema.optionalWith(Schema.Literal("all", "any"), { exact: true }),
      rules: mayBeEmpty ? members : members.pipe(Schema.minItems(1))
    }).annotations({
      identifier: name,
      description: `Rules of which all (the default) or any must match: at most ${filterLimits.rules} rules in all, ` +
        `groups at most ${filterLimits.depth} deep. An absent value matches only ne, not_in, exists false and what ` +
        "is negated."
    })
  const nested: Schema.Schema.AnyNoContext = group(`${identifier}Group`, false)
  return group(identifier, !nonEmpty)
}
