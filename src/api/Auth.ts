import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import type { User } from "../schema/User.ts"
import { wire } from "./Problem.ts"
import { Forbidden, Unauthenticated } from "./problems.ts"
import { IpRestricted } from "./problems/access.ts"
import { RateLimited, SessionRequired, TokenNetworkRefused } from "./problems/identity.ts"

/** The user whose token the request carries; with an API token its permissions are cut to the token's scopes. */
export class CurrentUser extends Context.Tag("api/CurrentUser")<CurrentUser, User>() {}

/** Resolves the bearer token, then holds the caller to the permission that the endpoint `Requires`. */
export class Authentication extends HttpApiMiddleware.Tag<Authentication>()("api/Authentication", {
  failure: Schema.Union(
    wire(Unauthenticated),
    wire(Forbidden),
    wire(SessionRequired),
    wire(TokenNetworkRefused),
    wire(IpRestricted),
    wire(RateLimited)
  ),
  provides: CurrentUser,
  security: {
    bearer: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "Opaque token of `POST /api/auth/login` or `POST /api/auth/tokens`")
    )
  }
}) {}
