import { HttpServerRequest } from "@effect/platform"
import { Duration, Effect, Option, Redacted } from "effect"
import { toDataURL } from "qrcode"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidCredentials, Unauthenticated } from "../../api/problems.ts"
import { IpRestricted } from "../../api/problems/access.ts"
import { MfaEnrolled, MfaInvalidCode, PasswordMismatch } from "../../api/problems/identity.ts"
import { SessionId } from "../../schema/Session.ts"
import { summaryOf, type User } from "../../schema/User.ts"
import { Accounts } from "../../services/Accounts.ts"
import { Authenticator, type SessionCredential } from "../../services/Authenticator.ts"
import { Mfa, type MfaProof } from "../../services/Mfa.ts"
import { SignIn } from "../../services/SignIn.ts"
import { clientAddress, CurrentRequest } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { tooManyAttempts } from "./rateLimited.ts"

const sessionId = idFrom(SessionId, "session")

const userAgentMax = 200

const client = Effect.zipWith(clientAddress, HttpServerRequest.HttpServerRequest, (address, request) => ({
  address,
  userAgent: (request.headers["user-agent"] ?? "").slice(0, userAgentMax)
}))

const actor = Effect.all({ user: CurrentUser, address: clientAddress })

/** The session of the request; the operation was declared to take nothing else. */
const currentSession = Effect.flatMap(CurrentRequest, ({ credential }) =>
  credential?._tag === "Session"
    ? Effect.succeed<SessionCredential>(credential)
    : Effect.dieMessage("The operation isn't declared to take a session only"))

const signedIn = (user: User, token: Redacted.Redacted, expiresIn: Duration.Duration) => ({
  token: Redacted.value(token),
  user: summaryOf(user),
  expiresIn: Math.floor(Duration.toSeconds(expiresIn))
})

const invalidCode = () => new MfaInvalidCode({ detail: "The code is wrong or used, or the login it is for is over" })

/** Of both, the code counts; with neither there is no proof. */
const proofOf = (
  { code, recoveryCode }: { readonly code?: string | undefined; readonly recoveryCode?: string | undefined }
): Effect.Effect<MfaProof, MfaInvalidCode> => {
  if (code !== undefined) return Effect.succeed({ code })
  return recoveryCode === undefined ? Effect.fail(invalidCode()) : Effect.succeed({ recoveryCode })
}

export const SignInHttp = group(
  Api,
  "signIn",
  Effect.fnUntraced(function*(handlers) {
    const signIn = yield* SignIn
    return handlers
      .handle(
        "login",
        Effect.fnUntraced(
          function*({ payload }) {
            const result = yield* signIn.login(payload.username, Redacted.make(payload.password), yield* client)
            if (result._tag === "SignedIn") return signedIn(result.user, result.token, result.expiresIn)
            return {
              mfaRequired: true as const,
              mfaToken: Redacted.value(result.mfaToken),
              mfaMethods: ["totp", "recovery_code"] as const,
              expiresIn: Duration.toSeconds(result.expiresIn)
            }
          },
          Effect.catchTags({
            "SignIn/WrongCredentials": () =>
              new InvalidCredentials({ detail: "The username or the password is wrong" }),
            "SignIn/AddressRefused": () =>
              new IpRestricted({ detail: "This account may not be used from your address" }),
            "SignIn/TooManyAttempts": tooManyAttempts
          })
        )
      )
      .handle(
        "verifyMfa",
        Effect.fnUntraced(
          function*({ payload }) {
            const proof = yield* proofOf(payload)
            const { expiresIn, token, user } = yield* signIn.verify(
              Redacted.make(payload.mfaToken),
              proof,
              yield* client
            )
            return signedIn(user, token, expiresIn)
          },
          Effect.catchTags({ "Mfa/ProofWrong": invalidCode, "SignIn/TooManyAttempts": tooManyAttempts })
        )
      )
  })
)

export const AccountHttp = group(
  Api,
  "account",
  Effect.fnUntraced(function*(handlers) {
    const authenticator = yield* Authenticator
    const accounts = yield* Accounts
    const mfa = yield* Mfa
    const success = { success: true as const }
    return handlers
      .handle("me", () => Effect.map(CurrentUser, summaryOf))
      .handle(
        "logout",
        Effect.fnUntraced(function*() {
          const { address, user } = yield* actor
          yield* authenticator.logout(user, yield* currentSession, address)
          return success
        })
      )
      .handle(
        "refresh",
        Effect.fnUntraced(function*() {
          const { address, user } = yield* actor
          const next = yield* authenticator.refresh(user, yield* currentSession, address)
          if (Option.isSome(next)) return signedIn(user, next.value.token, next.value.expiresIn)
          return yield* new Unauthenticated({ detail: "The session ended meanwhile; sign in again" })
        })
      )
      .handle(
        "listSessions",
        Effect.fnUntraced(function*({ urlParams }) {
          const { session } = yield* currentSession
          const page = yield* authenticator.sessions(yield* CurrentUser, urlParams)
          return { ...page, items: page.items.map((item) => ({ ...item, current: item.id === session.id })) }
        }, Effect.catchTag("Page/InvalidCursor", invalidCursor))
      )
      .handle(
        "endSession",
        Effect.fnUntraced(function*({ path }) {
          const { address, user } = yield* actor
          const ended = yield* authenticator.endSession(user, yield* sessionId.parse(path.id), address)
          return ended ? { ...success, id: path.id } : yield* sessionId.missing()
        })
      )
      .handle(
        "changePassword",
        Effect.fnUntraced(
          function*({ payload }) {
            const { session } = yield* currentSession
            yield* accounts.changePassword(yield* actor, session.id, {
              current: Redacted.make(payload.currentPassword),
              next: Redacted.make(payload.newPassword)
            })
            return success
          },
          Effect.catchTags({
            "Accounts/CurrentPasswordWrong": () => new PasswordMismatch({ detail: "The current password is wrong" }),
            "SignIn/TooManyAttempts": tooManyAttempts
          })
        )
      )
      .handle(
        "enrollMfa",
        Effect.fnUntraced(
          function*() {
            const { secret, uri } = yield* mfa.enroll(yield* CurrentUser)
            const qrCode = yield* Effect.promise(() => toDataURL(uri))
            return { secret: Redacted.value(secret), otpauthUri: uri, qrCode }
          },
          Effect.catchTag(
            "Mfa/EnrolledAlready",
            () => new MfaEnrolled({ detail: "An authenticator is enrolled already" })
          )
        )
      )
      .handle(
        "confirmMfa",
        Effect.fnUntraced(function*({ payload }) {
          const { address, user } = yield* actor
          return { recoveryCodes: yield* mfa.confirm(user, payload.code, address) }
        }, Effect.catchTag("Mfa/ProofWrong", invalidCode))
      )
      .handle(
        "disableMfa",
        Effect.fnUntraced(
          function*({ payload }) {
            const { address, user } = yield* actor
            yield* mfa.disable(user, yield* proofOf(payload), address)
            return success
          },
          Effect.catchTags({ "Mfa/ProofWrong": invalidCode, "SignIn/TooManyAttempts": tooManyAttempts })
        )
      )
  })
)
