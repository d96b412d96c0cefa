import { ParseResult, Predicate, Schema, SchemaAST } from "effect"
import { readFilter } from "./FilterDecode.ts"
import { documentFilter } from "./FilterDocument.ts"
import {
  arityOf,
  type FieldTable,
  type FilterOp,
  type IpOp,
  type KindName,
  type OrderOp,
  type TextOp
} from "./FilterOps.ts"

export type FilterMatch = "all" | "any"

interface RuleOf<Tag, Kind, Op, Value, Field> {
  readonly _tag: Tag
  readonly field: Field
  readonly kind: Kind
  readonly op: Op
  /** one value for the ops that take `value` */
  readonly values: ReadonlyArray<Value>
  readonly negate: boolean
}

export type TextKind = "text" | "enum" | "mac" | "duid" | "client"
export type TextRule<Field = string> = RuleOf<"Text", TextKind, TextOp, string, Field>
export type NumberRule<Field = string> = RuleOf<"Number", "number", OrderOp, number, Field>
/** Values are RFC 3339 texts in UTC with milliseconds: their order as texts is that of the times. */
export type TimeRule<Field = string> = RuleOf<"Time", "time", OrderOp, string, Field>
export type IpRule<Field = string> = RuleOf<"Ip", "ip", IpOp, string, Field>
export type ExistsRule<Field = string> = RuleOf<"Exists", KindName, "exists", boolean, Field>
export type FilterRule<Field = string> =
  | TextRule<Field>
  | NumberRule<Field>
  | TimeRule<Field>
  | IpRule<Field>
  | ExistsRule<Field>

/** A filter, or a group nested in one. Only the outermost group can be empty, and then it matches everything. */
export interface FilterGroup<Field = string> {
  readonly _tag: "Group"
  readonly match: FilterMatch
  readonly rules: ReadonlyArray<FilterRule<Field> | FilterGroup<Field>>
}

export interface FilterRuleJson {
  readonly field: string
  readonly op: FilterOp
  readonly value?: string | number | boolean
  readonly values?: ReadonlyArray<string | number | boolean>
  readonly negate?: boolean
}

/** A filter as it is written in requests and stored. */
export interface FilterJson {
  readonly match?: FilterMatch
  readonly rules: ReadonlyArray<FilterRuleJson | FilterJson>
}

const ruleToJson = ({ field, negate, op, values }: FilterRule): FilterRuleJson => {
  const arity = arityOf(op)
  const single = arity === "one" || (arity === "either" && values.length === 1)
  return { field, op, ...(single ? { value: values[0]! } : { values }), ...(negate ? { negate } : {}) }
}

const groupToJson = (group: FilterGroup): FilterJson => ({
  match: group.match,
  rules: group.rules.map((member) => member._tag === "Group" ? groupToJson(member) : ruleToJson(member))
})

const isGroup = (input: unknown): input is FilterGroup => Predicate.isTagged(input, "Group")

/**
 * The schema of filters over the fields of a table. Decoding normalises values (MACs, DUIDs, addresses, times) and
 * reports every problem with its path; encoding gives canonical JSON: `match` written out, no repeated values,
 * `negate` only where true. The identifier names it in the OpenAPI document and must be of this table alone.
 */
export const Filter = <Fields extends FieldTable>(
  identifier: string,
  fields: Fields,
  options: { readonly nonEmpty?: boolean } = {}
): Schema.Schema<FilterGroup<Extract<keyof Fields, string>>, FilterJson> => {
  type Group = FilterGroup<Extract<keyof Fields, string>>
  const json = Schema.declare((_): _ is FilterJson => true).annotations({
    identifier,
    [SchemaAST.SurrogateAnnotationId]: documentFilter(identifier, fields, options.nonEmpty === true).ast
  })
  const group = Schema.declare((input): input is Group => isGroup(input)).annotations({ title: identifier })
  return Schema.transformOrFail(json, group, {
    strict: true,
    decode: (input, _, ast) => {
      const result = readFilter(fields, input, options.nonEmpty === true)
      if (isGroup(result)) return ParseResult.succeed(result as Group)
      const [first, ...rest] = result.map(({ actual, message, path }) => {
        const issue = new ParseResult.Type(ast, actual, message)
        return path.length === 0 ? issue : new ParseResult.Pointer(path as [PropertyKey], actual, issue)
      })
      return ParseResult.fail(new ParseResult.Composite(ast, input, [first!, ...rest]))
    },
    encode: (filter) => ParseResult.succeed(groupToJson(filter))
  })
}
