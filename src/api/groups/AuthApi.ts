import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Session } from "../../schema/Session.ts"
import { Password, UserSummary } from "../../schema/User.ts"
import { Authentication } from "../Auth.ts"
import { body, freeBody, optionalBody, path, query, sessionOnly } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { InvalidCredentials, NotFound, Unauthenticated } from "../problems.ts"
import { IpRestricted } from "../problems/access.ts"
import { MfaEnrolled, MfaInvalidCode, PasswordMismatch, RateLimited } from "../problems/identity.ts"

/** Result of a login (specification 2.8). */
export const LoginResult = Schema.Struct({
  token: Schema.String.annotations({ description: "opaque bearer token, shown this once" }),
  user: UserSummary,
  expiresIn: Schema.Int.annotations({ description: "seconds until the token expires" })
}).annotations({ identifier: "LoginResult" })

/** Answer to a right password of a user with a second factor. */
export const MfaChallenge = Schema.Struct({
  mfaRequired: Schema.Literal(true),
  mfaToken: Schema.String.annotations({ description: "opens `POST /api/auth/mfa/verify` and nothing else" }),
  mfaMethods: Schema.Tuple(Schema.Literal("totp"), Schema.Literal("recovery_code")),
  expiresIn: Schema.Int.annotations({ description: "seconds until the challenge is over" })
}).annotations({ identifier: "MfaChallenge" })

const code = Schema.String.pipe(Schema.maxLength(64)).annotations({ description: "six digits of the authenticator" })
const recovery = Schema.String.pipe(Schema.maxLength(64)).annotations({ description: "one of the recovery codes" })

const Success = Schema.Struct({ success: Schema.Literal(true) }).annotations({ identifier: "Success" })

export class SignInApi extends HttpApiGroup.make("signIn")
  .add(
    HttpApiEndpoint.post("login", "/api/auth/login")
      .setPayload(body(Schema.Struct({
        username: Schema.String.pipe(Schema.maxLength(64)),
        password: Schema.String.pipe(Schema.maxLength(256))
      })))
      .addSuccess(Schema.Union(LoginResult, MfaChallenge))
      .addError(wire(InvalidCredentials))
      .addError(wire(RateLimited))
      .addError(wire(IpRestricted))
      .annotate(OpenApi.Summary, "Sign in")
      .annotate(
        OpenApi.Description,
        "Answers a bearer token for `Authorization: Bearer <token>`; or, where a second factor is enrolled, a challenge for `POST /api/auth/mfa/verify`."
      )
  )
  .add(
    HttpApiEndpoint.post("verifyMfa", "/api/auth/mfa/verify")
      .setPayload(freeBody(Schema.Struct({
        mfaToken: Schema.String.pipe(Schema.maxLength(256)),
        code: Schema.optional(code),
        recoveryCode: Schema.optional(recovery)
      })))
      .addSuccess(LoginResult)
      .addError(wire(MfaInvalidCode))
      .addError(wire(RateLimited))
      .annotate(OpenApi.Summary, "Complete a login with a second factor")
      .annotate(
        OpenApi.Description,
        "Takes `code` or `recoveryCode`. A challenge is good for one login, five codes and five minutes; a code passes once."
      )
  )
  .annotateContext(OpenApi.annotations({ title: "Sign-in", description: "How a caller gets a token." }))
{}

export class AccountApi extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("me", "/api/auth/me")
      .addSuccess(UserSummary)
      .annotate(OpenApi.Summary, "Who am I")
      .annotate(OpenApi.Description, "With an API token, `permissions` are those of the role cut to its scopes.")
  )
  .add(
    HttpApiEndpoint.post("logout", "/api/auth/logout")
      .setPayload(freeBody(Schema.Struct({})))
      .addSuccess(Success)
      .annotate(OpenApi.Summary, "End the session")
      .annotate(OpenApi.Description, "The token is dead on every node when this answers.")
      .annotateContext(optionalBody)
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.post("refresh", "/api/auth/refresh")
      .setPayload(freeBody(Schema.Struct({})))
      .addSuccess(LoginResult)
      .addError(wire(Unauthenticated))
      .annotate(OpenApi.Summary, "Exchange the token for a new one")
      .annotate(
        OpenApi.Description,
        "The old token dies at once. A session ends 12 hours after its sign-in however often it is refreshed."
      )
      .annotateContext(optionalBody)
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.get("listSessions", "/api/auth/sessions")
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(Schema.Struct({ ...Session.fields, current: Schema.Boolean })))
      .annotate(OpenApi.Summary, "List your sessions")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.del("endSession", "/api/auth/sessions/:id")
      .setPath(path({ id: Schema.String }))
      .addSuccess(Schema.Struct({ success: Schema.Literal(true), id: Schema.String }))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "End one of your sessions")
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.post("changePassword", "/api/auth/password")
      .setPayload(body(Schema.Struct({
        currentPassword: Schema.String.pipe(Schema.maxLength(256)),
        newPassword: Password
      })))
      .addSuccess(Success)
      .addError(wire(PasswordMismatch))
      .annotate(OpenApi.Summary, "Change your password")
      .annotate(OpenApi.Description, "Ends your other sessions.")
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.post("enrollMfa", "/api/auth/mfa/enroll")
      .setPayload(freeBody(Schema.Struct({})))
      .addSuccess(
        Schema.Struct({
          secret: Schema.String.annotations({ description: "base32, for authenticators without a camera" }),
          otpauthUri: Schema.String,
          qrCode: Schema.String.annotations({ description: "the URI as a QR code: a PNG in a data URI" })
        }).annotations({ identifier: "MfaOffer" })
      )
      .addError(wire(MfaEnrolled))
      .annotate(OpenApi.Summary, "Offer an authenticator secret")
      .annotate(OpenApi.Description, "It counts once a code of it came to `POST /api/auth/mfa/confirm`.")
      .annotateContext(optionalBody)
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.post("confirmMfa", "/api/auth/mfa/confirm")
      .setPayload(body(Schema.Struct({ code })))
      .addSuccess(
        Schema.Struct({
          recoveryCodes: Schema.Array(Schema.String).annotations({
            description: "ten, each good once; shown this once"
          })
        }).annotations({ identifier: "MfaConfirmed" })
      )
      .addError(wire(MfaInvalidCode))
      .annotate(OpenApi.Summary, "Enrol the authenticator on offer")
      .annotateContext(sessionOnly)
  )
  .add(
    HttpApiEndpoint.del("disableMfa", "/api/auth/mfa")
      .setPayload(body(Schema.Struct({ code: Schema.optional(code), recoveryCode: Schema.optional(recovery) })))
      .addSuccess(Success)
      .addError(wire(MfaInvalidCode))
      .annotate(OpenApi.Summary, "Remove your second factor")
      .annotate(OpenApi.Description, "Takes a fresh code, or a recovery code.")
      .annotateContext(sessionOnly)
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Account", description: "The signed-in user." }))
{}
