import { HttpServerRequest } from "@effect/platform"
import { Effect } from "effect"
import { PreconditionFailed } from "../../api/problems/access.ts"
import type { Expected, RevisionMismatch } from "../../services/Revision.ts"

/** The `ETag` (RFC 9110) of a record's revision. */
export const etagOf = (revision: number): string => `"${revision}"`

const tags = (header: string): ReadonlyArray<string> => header.split(",").map((tag) => tag.trim())

/** The revisions that `If-Match` takes; a weak tag never matches, `*` takes any. */
export const expectedIn = (header: string | undefined): Expected => {
  if (header === undefined || header.trim() === "*") return undefined
  return tags(header).flatMap((tag) => {
    const digits = /^"(0|[1-9]\d{0,8})"$/.exec(tag)?.[1]
    return digits === undefined ? [] : [Number(digits)]
  })
}

/** Whether `If-None-Match` names the revision; the comparison is weak. */
export const isNamed = (header: string | undefined, revision: number): boolean =>
  header !== undefined &&
  (header.trim() === "*" || tags(header).some((tag) => tag.replace(/^W\//, "") === etagOf(revision)))

/** The revisions that the request is content to find, to be compared where the record is written. */
export const expected: Effect.Effect<Expected, never, HttpServerRequest.HttpServerRequest> = Effect.map(
  HttpServerRequest.HttpServerRequest,
  (request) => expectedIn(request.headers["if-match"])
)

export const preconditionFailed = ({ revision }: RevisionMismatch) =>
  new PreconditionFailed({ detail: `The record has the ETag ${etagOf(revision)} now` })
