import { HttpApiBuilder } from "@effect/platform"
import { Duration, Effect, Redacted } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidCredentials } from "../../api/problems.ts"
import { summaryOf } from "../../schema/User.ts"
import { SignIn } from "../../services/SignIn.ts"

export const SignInHttp = HttpApiBuilder.group(
  Api,
  "signIn",
  Effect.fnUntraced(function*(handlers) {
    const signIn = yield* SignIn
    return handlers.handle(
      "login",
      ({ payload }) =>
        signIn.login(payload.username, Redacted.make(payload.password)).pipe(
          Effect.map(({ expiresIn, token, user }) => ({
            token: Redacted.value(token),
            user: summaryOf(user),
            expiresIn: Duration.toSeconds(expiresIn)
          })),
          Effect.catchTag(
            "SignIn/WrongCredentials",
            () => new InvalidCredentials({ detail: "The username or the password is wrong" })
          )
        )
    )
  })
)

export const AccountHttp = HttpApiBuilder.group(
  Api,
  "account",
  (handlers) => handlers.handle("me", () => Effect.map(CurrentUser, summaryOf))
)
