import { HttpApiMiddleware } from "@effect/platform"
import { Context, Schema } from "effect"
import type { Permission } from "../schema/Permission.ts"
import { wire } from "./Problem.ts"
import * as P from "./problems.ts"

/** Problems that any endpoint may answer with, whatever its own error schemas. */
const Shared = Schema.Union(
  wire(P.InvalidRequest),
  wire(P.RequestTimeout),
  wire(P.PayloadTooLarge),
  wire(P.UnsupportedMediaType),
  wire(P.Internal),
  wire(P.Unavailable)
)

/** Carries the shared problems into every endpoint's contract; the boundary layer is what sends them. */
export class Boundary extends HttpApiMiddleware.Tag<Boundary>()("api/Boundary", { failure: Shared }) {}

/** The permission that an endpoint asks of its caller; an authenticated endpoint without one asks only for a session. */
export class Requires extends Context.Tag("api/Requires")<Requires, Permission>() {}

/** Whether an endpoint takes nothing but a session: an API token can't change how its owner signs in. */
export class RequiresSession extends Context.Reference<RequiresSession>()("api/RequiresSession", {
  defaultValue: () => false
}) {}

/** How an endpoint takes its body: `optional` reads an absent one as `{}`, `stream` is neither bounded nor decoded. */
export class BodyMode extends Context.Tag("api/BodyMode")<
  BodyMode,
  { readonly mode: "optional" } | { readonly mode: "stream"; readonly contentType: string }
>() {}

/** Bytes that an endpoint takes as its body, where that is other than the usual. */
export class BodyLimit extends Context.Tag("api/BodyLimit")<BodyLimit, number>() {}

export const bodyLimit = (bytes: number) => Context.make(BodyLimit, bytes)
/** What the shared machinery does for an endpoint. */
export class Traits extends Context.Tag("api/Traits")<Traits, {
  /** Honours `Idempotency-Key`. */
  readonly idempotent: boolean
  /** All that the handler writes is in Postgres: it is one transaction with its audit entry and remembered answer. */
  readonly atomic: boolean
  /** Answers the record's revision as `ETag`; reads honour `If-None-Match`, writes `If-Match`. */
  readonly versioned: boolean
}>() {}

/** Whether calls of an endpoint that isn't a read are kept out of the audit trail. */
export class Unaudited extends Context.Reference<Unaudited>()("api/Unaudited", { defaultValue: () => false }) {}

/** For what changes nothing that anybody decided: trials, and observations that come in by the thousand. */
export const unaudited = Context.make(Unaudited, true)

/** Whether the bodies of an endpoint hold no secret under any name. */
export class PlainBodies extends Context.Reference<PlainBodies>()("api/PlainBodies", { defaultValue: () => false }) {}

/** For bodies in somebody else's language: what is kept of them is kept as it is, whatever its keys are called. */
export const plainBodies = Context.make(PlainBodies, true)

/** Gives an endpoint traits, all at once. */
export const traits = (...names: ReadonlyArray<"idempotent" | "atomic" | "versioned">) =>
  Context.make(Traits, {
    idempotent: names.includes("idempotent"),
    atomic: names.includes("atomic"),
    versioned: names.includes("versioned")
  })

export const requires = (permission: Permission) => Context.make(Requires, permission)

export const sessionOnly = Context.make(RequiresSession, true)

export const optionalBody = Context.make(BodyMode, { mode: "optional" })

export const streamBody = (contentType: string) => Context.make(BodyMode, { mode: "stream", contentType })

const strict = { parseOptions: { errors: "all", onExcessProperty: "error" } } as const

/** Marks a request schema as the body: every violation is named, unknown fields are refused. */
export const body = <A, I, R>(schema: Schema.Schema<A, I, R>) => schema.annotations({ title: "body", ...strict })

/** As `body`, for the specification's free-form objects: keys that are not declared are ignored. */
export const freeBody = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  schema.annotations({ title: "body", parseOptions: { errors: "all", onExcessProperty: "ignore" } })

export const path = <F extends Schema.Struct.Fields>(fields: F) => Schema.Struct(fields).annotations({ title: "path" })

export const query = <F extends Schema.Struct.Fields>(fields: F) =>
  Schema.Struct(fields).annotations({ title: "query", ...strict })
