import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"

export const problemContentType = "application/problem+json"

/** Marks the classes that `Problem` makes, so that nothing else that fails is ever sent as it is. */
export const ProblemTypeId: unique symbol = Symbol.for("netops/Problem")

const constant = <const L extends string | number>(value: L) =>
  Schema.Literal(value).pipe(Schema.propertySignature, Schema.withConstructorDefault((): L => value))

const text = Schema.String.pipe(Schema.propertySignature, Schema.withConstructorDefault(() => ""))

const slugOf = (tag: string) => tag.replace(/(?<!^)([A-Z])/g, "-$1").toLowerCase()

/** Members of the one error body (specification section 7) that the boundary fills in. */
const occurrence = {
  instance: text.annotations({ description: "identifies this occurrence: urn:uuid:…" }),
  error: text.annotations({ description: "legacy: equals detail" }),
  details: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "legacy: field to message"
  }).pipe(Schema.propertySignature, Schema.withConstructorDefault(() => ({}))),
  requestId: text.annotations({ description: "equals the X-Request-ID header of the answer" })
}

/** A class that `Problem` made. */
export interface ProblemClass {
  readonly identifier: string
  readonly slug: string
  readonly spec: { readonly status: number; readonly title: string; readonly help: string }
}

/** Every declared problem type, by slug: what `/problems/{slug}` explains. */
export const registry = new Map<string, ProblemClass>()

/**
 * Declares one problem type (RFC 9457) as a yieldable error.
 *
 * `fields` are the extension members of that type. Pass `wire(X)` to `addError`: the tag by which code tells the types
 * apart stays off the wire, where `type` does that.
 */
export const Problem =
  <Self>() =>
  <const Tag extends string, const Status extends number, const Fields extends Schema.Struct.Fields = {}>(
    tag: Tag,
    spec: { readonly status: Status; readonly title: string; readonly help: string },
    fields: Fields = {} as Fields
  ) => {
    const members = {
      type: constant(`/problems/${slugOf(tag)}`),
      title: constant(spec.title),
      status: constant(spec.status),
      detail: Schema.String,
      ...occurrence,
      ...fields
    }
    type AllMembers = typeof members & Fields
    const Base: any = (Schema.TaggedError<Self>() as any)(tag, members)
    Object.assign(Base, { spec, slug: slugOf(tag), members })
    registry.set(slugOf(tag), Base)
    Object.defineProperty(Base.prototype, ProblemTypeId, { value: true })
    Object.defineProperty(Base.prototype, "message", {
      configurable: true,
      get(this: { readonly detail: string }) {
        return this.detail
      }
    })
    return Base as Schema.TaggedErrorClass<Self, Tag, { readonly _tag: Schema.tag<Tag> } & AllMembers> & {
      readonly spec: { readonly status: Status; readonly title: string; readonly help: string }
      readonly slug: string
      readonly members: AllMembers
    }
  }

/** An instance of any problem type. */
export interface AnyProblem {
  readonly _tag: string
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
}

export const isProblem = (u: unknown): u is AnyProblem => typeof u === "object" && u !== null && ProblemTypeId in u

type Members = { readonly [K in string]: Schema.Struct.Field }

/** The schema of a problem as it travels: all members, without the tag. */
export const wire = <Self, M extends Members>(
  cls: (abstract new(...args: any) => Self) & ProblemClass & {
    readonly members: M
    readonly ast: Schema.Schema<Self>["ast"]
  }
): Schema.Schema<Self, Schema.Struct.Encoded<M>> => {
  const body = Schema.Struct(cls.members as Schema.Struct.Fields)
  const names = Object.keys(cls.members)
  const make = cls as unknown as new(members: object, options: object) => Self
  const schema = Schema.transform(
    body.annotations({ identifier: cls.identifier, title: cls.spec.title }),
    Schema.typeSchema(cls as unknown as Schema.Schema<Self>),
    {
      strict: false,
      decode: (members: object) => new make(members, { disableValidation: true }),
      encode: (problem: any) => Object.fromEntries(names.map((name) => [name, problem[name]]))
    }
  ).annotations({
    ...HttpApiSchema.annotations({ status: cls.spec.status, description: cls.spec.title }),
    [HttpApiSchema.AnnotationEncoding]: { kind: "Json", contentType: problemContentType }
  })
  return schema as unknown as Schema.Schema<Self, Schema.Struct.Encoded<M>>
}
