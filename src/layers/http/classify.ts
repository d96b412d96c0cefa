import { HttpApiError, HttpServerError } from "@effect/platform"
import { Cause, Option } from "effect"
import { type AnyProblem, isProblem } from "../../api/Problem.ts"
import { Internal, InvalidRequest, NotFound, Unavailable, type Violation } from "../../api/problems.ts"
import { NftUnavailable } from "../../services/Nft.ts"
import { ClickHouseError } from "../clickhouse/ClickHouseError.ts"
import { isPostgresOutage } from "../postgres/sql.ts"

const rooted = /^\W*(?:Expected )?\W*(path|query|headers|body)\b/

/** Most violations that one answer lists. */
const violationsMax = 200

const pointerOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("").slice(0, 256)

/** What was expected, without the value that was sent instead. */
const withoutActual = (message: string): string => {
  const line = message.split("\n", 1)[0]!
  const target = /^Unable to decode .* into (.{1,100})$/.exec(line)?.[1]
  if (target !== undefined) return `Expected ${target}`
  // V8 quotes what it could not parse.
  if (/\bJSON\b/.test(line)) return "Expected JSON"
  const actual = line.indexOf(", actual ")
  const expected = (actual === -1 ? line : line.slice(0, actual)).replace(
    "is unexpected, expected: ",
    "Unknown field; known are "
  )
  return expected.slice(0, 300)
}

/** An absent value is also allowed where a field is optional; to say so of a wrong one helps nobody. */
const isNoise = (error: Violation, all: ReadonlyArray<Violation>): boolean =>
  error.message === "Expected undefined" &&
  all.some((other) =>
    other.message !== error.message &&
    (other.pointer === error.pointer || other.pointer.startsWith(`${error.pointer}/`))
  )

/**
 * Request schemas are titled by where they apply, so a decode error that is rooted anywhere else is an answer of ours
 * that broke its own schema.
 */
const fromDecode = (error: HttpApiError.HttpApiDecodeError): AnyProblem => {
  const place = rooted.exec(error.message)?.[1] as Violation["in"] | undefined
  if (place === undefined) return internal()
  const all = error.issues.slice(0, 5 * violationsMax).map((issue): Violation => ({
    in: place,
    pointer: pointerOf(issue.path),
    message: withoutActual(issue.message)
  }))
  const told = all.filter((violation) => !isNoise(violation, all))
  const errors = told.slice(0, violationsMax)
  const first = errors[0]
  const where = first === undefined ? "" : ` at ${first.pointer === "" ? "its root" : first.pointer}: ${first.message}`
  const more = told.length > 1 ? ` (and ${told.length - 1} more)` : ""
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
  if (error instanceof HttpApiError.HttpApiDecodeError) return Option.some(fromDecode(error))
  if (error instanceof HttpServerError.RouteNotFound) {
    return Option.some(new NotFound({ detail: "Nothing is served at this path" }))
  }
  if (error instanceof HttpServerError.RequestError) {
    return Option.some(new InvalidRequest({ detail: "The body could not be read", errors: [] }))
  }
  return Option.some(outage(error) ?? internal())
}
