import { Schema } from "effect"
import { Problem } from "../Problem.ts"

export class RateLimited extends Problem<RateLimited>()(
  "RateLimited",
  {
    status: 429,
    title: "Too many attempts",
    help:
      "Wait for the seconds in `Retry-After`. The answer is the same whether or not an account exists. An operator can lift a lock with `netops user unlock`."
  },
  { retry_after: Schema.Int.annotations({ description: "seconds to wait, as in the Retry-After header" }) }
) {}

export class MfaInvalidCode extends Problem<MfaInvalidCode>()("MfaInvalidCode", {
  status: 400,
  title: "The code or its challenge is not valid",
  help:
    "The code is wrong, was used before, or is out of time; or the login it was to complete is over: it takes five codes within five minutes. Sign in again for a new challenge."
}) {}

export class MfaEnrolled extends Problem<MfaEnrolled>()("MfaEnrolled", {
  status: 400,
  title: "A second factor is enrolled already",
  help: "Remove it with `DELETE /api/auth/mfa` and a fresh code before another is enrolled."
}) {}

export class PasswordMismatch extends Problem<PasswordMismatch>()("PasswordMismatch", {
  status: 400,
  title: "The current password is wrong",
  help: "Send your current password beside the new one. Wrong ones count towards the lock of the account."
}) {}

export class SessionRequired extends Problem<SessionRequired>()("SessionRequired", {
  status: 403,
  title: "The operation takes a session",
  help: "API tokens can't change how their owner signs in. Use a token from `POST /api/auth/login`."
}) {}

export class TokenNetworkRefused extends Problem<TokenNetworkRefused>()("TokenNetworkRefused", {
  status: 403,
  title: "The API token is not for this network",
  help: "The token has `allowedNetworks`, and the request came from elsewhere."
}) {}

export class UsernameTaken extends Problem<UsernameTaken>()("UsernameTaken", {
  status: 400,
  title: "The username is taken",
  help: "Names that differ only in case are one. Choose another."
}) {}

export class LastAdministrator extends Problem<LastAdministrator>()("LastAdministrator", {
  status: 400,
  title: "No enabled administrator would be left",
  help: "Make another user an administrator first."
}) {}
