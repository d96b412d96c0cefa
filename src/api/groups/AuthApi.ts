import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { UserSummary } from "../../schema/User.ts"
import { Authentication } from "../Auth.ts"
import { body } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { InvalidCredentials } from "../problems.ts"
import { IpRestricted } from "../problems/access.ts"

/** Result of a login (specification 2.8). */
export const LoginResult = Schema.Struct({
  token: Schema.String.annotations({ description: "opaque bearer token, shown this once" }),
  user: UserSummary,
  expiresIn: Schema.Int.annotations({ description: "seconds until the token expires" })
}).annotations({ identifier: "LoginResult" })

export class SignInApi extends HttpApiGroup.make("signIn")
  .add(
    HttpApiEndpoint.post("login", "/api/auth/login")
      .setPayload(body(Schema.Struct({
        username: Schema.String.pipe(Schema.maxLength(64)),
        password: Schema.String.pipe(Schema.maxLength(256))
      })))
      .addSuccess(LoginResult)
      .addError(wire(InvalidCredentials))
      .addError(wire(IpRestricted))
      .annotate(OpenApi.Summary, "Sign in")
      .annotate(OpenApi.Description, "Answers a bearer token for `Authorization: Bearer <token>`.")
  )
  .annotateContext(OpenApi.annotations({ title: "Sign-in", description: "How a caller gets a token." }))
{}

export class AccountApi extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("me", "/api/auth/me")
      .addSuccess(UserSummary)
      .annotate(OpenApi.Summary, "Who am I")
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Account", description: "The signed-in user." }))
{}
