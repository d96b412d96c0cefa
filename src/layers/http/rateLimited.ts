import { Duration } from "effect"
import { RateLimited } from "../../api/problems/identity.ts"

/** The problem that tells to wait, in whole seconds. */
export const rateLimited = (detail: string) => (retryAfter: Duration.Duration) =>
  new RateLimited({ detail, retry_after: Math.max(1, Math.ceil(Duration.toSeconds(retryAfter))) })

/** The one answer to too many sign-in attempts, whatever was counted. */
export const tooManyAttempts = ({ retryAfter }: { readonly retryAfter: Duration.Duration }) =>
  rateLimited("Too many attempts; wait before the next")(retryAfter)
