import { Duration, Effect, Redacted } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidCredentials } from "../../api/problems.ts"
import { IpRestricted } from "../../api/problems/access.ts"
import { summaryOf } from "../../schema/User.ts"
import { SignIn } from "../../services/SignIn.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { group } from "./group.ts"

export const SignInHttp = group(
  Api,
  "signIn",
  Effect.fnUntraced(function*(handlers) {
    const signIn = yield* SignIn
    return handlers.handle(
      "login",
      ({ payload }) =>
        Effect.flatMap(
          CurrentRequest,
          ({ address }) => signIn.login(payload.username, Redacted.make(payload.password), address)
        ).pipe(
          Effect.map(({ expiresIn, token, user }) => ({
            token: Redacted.value(token),
            user: summaryOf(user),
            expiresIn: Duration.toSeconds(expiresIn)
          })),
          Effect.catchTags({
            "SignIn/WrongCredentials": () =>
              new InvalidCredentials({ detail: "The username or the password is wrong" }),
            "SignIn/AddressRefused": () =>
              new IpRestricted({ detail: "This account may not be used from your address" })
          })
        )
    )
  })
)

export const AccountHttp = group(
  Api,
  "account",
  (handlers) => handlers.handle("me", () => Effect.map(CurrentUser, summaryOf))
)
