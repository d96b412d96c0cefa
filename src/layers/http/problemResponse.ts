import { HttpServerResponse } from "@effect/platform"
import { type AnyProblem, type ProblemClass, problemContentType } from "../../api/Problem.ts"
import { IngestInterrupted, InvalidRequest, Unavailable } from "../../api/problems.ts"
import { FeedbackLimited } from "../../api/problems/access.ts"
import { BlocksExhausted } from "../../api/problems/enforcement.ts"
import { RateLimited } from "../../api/problems/identity.ts"
import { TooManyQueries } from "../../api/problems/metrics.ts"

const legacyDetails = (problem: AnyProblem): Record<string, string> => {
  const details: Record<string, string> = {}
  if (!(problem instanceof InvalidRequest)) return details
  for (const error of problem.errors) details[error.pointer === "" ? error.in : error.pointer] ??= error.message
  return details
}

const extraHeaders = (problem: AnyProblem): Record<string, string> => {
  if (problem.status === 401) return { "www-authenticate": "Bearer" }
  if (problem instanceof RateLimited) return { "retry-after": String(problem.retry_after) }
  if (problem instanceof Unavailable || problem instanceof IngestInterrupted) return { "retry-after": "5" }
  if (problem instanceof TooManyQueries) return { "retry-after": "1" }
  if (problem instanceof FeedbackLimited) return { "retry-after": String(problem.retry_after) }
  if (problem instanceof BlocksExhausted) return { "retry-after": "60" }
  return problem.status === 408 ? { connection: "close" } : {}
}

/** Body of a problem with all its members; every occurrence has an id of its own. */
export const problemBody = (problem: AnyProblem, requestId: string, occurrence: string): Record<string, unknown> => {
  const members = (problem.constructor as unknown as ProblemClass & { readonly members: object }).members
  const values = problem as unknown as Record<string, unknown>
  return {
    ...Object.fromEntries(Object.keys(members).map((name) => [name, values[name]])),
    instance: `urn:uuid:${occurrence}`,
    error: problem.detail,
    details: legacyDetails(problem),
    requestId
  }
}

/** The one error answer. */
export const problemResponse = (
  problem: AnyProblem,
  requestId: string,
  occurrence: string,
  headers: Readonly<Record<string, string>> = {}
) =>
  HttpServerResponse.unsafeJson(problemBody(problem, requestId, occurrence), {
    status: problem.status,
    contentType: problemContentType,
    headers: { "cache-control": "no-store", ...extraHeaders(problem), ...headers }
  })
