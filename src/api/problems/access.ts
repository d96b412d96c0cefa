import { Schema } from "effect"
import { Problem } from "../Problem.ts"

export class IpRestricted extends Problem<IpRestricted>()("IpRestricted", {
  status: 403,
  title: "The address may not use this account",
  help: "The account has IP restrictions that refuse this address. Use another network, or ask an administrator."
}) {}

export class SelfLockout extends Problem<SelfLockout>()("SelfLockout", {
  status: 400,
  title: "The change would lock you out",
  help: "After it your own address would be refused. Allow that address first, or send `force: true`."
}) {}

export class RestrictionLimit extends Problem<RestrictionLimit>()("RestrictionLimit", {
  status: 400,
  title: "The user has as many IP restrictions as there can be",
  help: "Delete entries that are no longer needed, or state larger networks."
}) {}

export class FeedbackLimited extends Problem<FeedbackLimited>()(
  "FeedbackLimited",
  {
    status: 429,
    title: "Too much feedback within an hour",
    help: "Five messages an hour are taken from one user. Send it again after the time in `Retry-After`."
  },
  { retry_after: Schema.Int.annotations({ description: "seconds; equals the Retry-After header" }) }
) {}

export class PreconditionFailed extends Problem<PreconditionFailed>()("PreconditionFailed", {
  status: 412,
  title: "The record has changed",
  help: "`If-Match` names a revision that the record no longer has. Read it again and apply your change to that."
}) {}

export class IdempotencyKeyReused extends Problem<IdempotencyKeyReused>()("IdempotencyKeyReused", {
  status: 422,
  title: "The idempotency key belongs to another request",
  help: "This `Idempotency-Key` came with another body within the last 24 hours. Use a new key for each new request."
}) {}

export class IdempotencyInFlight extends Problem<IdempotencyInFlight>()("IdempotencyInFlight", {
  status: 409,
  title: "The request with this idempotency key is still at work",
  help: "Send it again in a moment: it is then answered as the first one was."
}) {}
