import { HttpApiError, HttpServerError } from "@effect/platform"
import { Cause, Option } from "effect"
import { type AnyProblem, isProblem } from "../../api/Problem.ts"
import { Internal, InvalidRequest, NotFound, Unavailable, type Violation } from "../../api/problems.ts"
import { NftUnavailable } from "../../services/Nft.ts"
import { ClickHouseError } from "../clickhouse/ClickHouseError.ts"
import { isPostgresOutage } from "../postgres/sql.ts"
import { violationsOf } from "./violations.ts"

const rooted = /^\W*(?:Expected )?\W*(path|query|headers|body)\b/

/**
 * Request schemas are titled by where they apply, so a decode error that is rooted anywhere else is an answer of ours
 * that broke its own schema.
 */
const fromDecode = (error: HttpApiError.HttpApiDecodeError): AnyProblem => {
  const place = rooted.exec(error.message)?.[1] as Violation["in"] | undefined
  if (place === undefined) return internal()
  const errors = violationsOf(place, error.issues)
  const first = errors[0]
  const where = first === undefined ? "" : ` at ${first.pointer === "" ? "its root" : first.pointer}: ${first.message}`
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ""
  return new InvalidRequest({ detail: `The ${place} is not valid${where}${more}`, errors })
}

export const internal = () => new Internal({ detail: "The failure was logged under the request id of this answer" })

const unavailable = (what: string) => new Unavailable({ detail: `${what} cannot be reached at the moment; try again` })

const outage = (error: unknown): Unavailable | undefined => {
  if (isPostgresOutage(error)) return unavailable("Postgres")
  if (error instanceof ClickHouseError && error.reason !== "rejected") return unavailable("ClickHouse")
  if (error instanceof NftUnavailable) return unavailable("The packet filter")
  return undefined
}

/** The problem that describes a failed request; none where the client went away. */
export const classify = (cause: Cause.Cause<unknown>): Option.Option<AnyProblem> => {
  if (Cause.isInterruptedOnly(cause)) return Option.none()
  const failure = Cause.failureOption(cause)
  if (Option.isSome(failure) && isProblem(failure.value)) return Option.some(failure.value)
  const error = Cause.squash(cause)
  // The stock decoder dies of a body that can't be read.
  if (isProblem(error)) return Option.some(error)
  if (error instanceof HttpApiError.HttpApiDecodeError) return Option.some(fromDecode(error))
  if (error instanceof HttpServerError.RouteNotFound) {
    return Option.some(new NotFound({ detail: "Nothing is served at this path" }))
  }
  if (error instanceof HttpServerError.RequestError) {
    return Option.some(new InvalidRequest({ detail: "The body could not be read", errors: [] }))
  }
  return Option.some(outage(error) ?? internal())
}
