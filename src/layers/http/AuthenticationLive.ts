import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { Authentication } from "../../api/Auth.ts"
import { Forbidden, Unauthenticated } from "../../api/problems.ts"
import { IpRestricted } from "../../api/problems/access.ts"
import { SessionRequired, TokenNetworkRefused } from "../../api/problems/identity.ts"
import { Authenticator, type Credential } from "../../services/Authenticator.ts"
import { IpGuard } from "../../services/IpGuard.ts"
import { RequestRate } from "../../services/RequestRate.ts"
import { clientAddress, CurrentRequest } from "./CurrentRequest.ts"
import { rateLimited } from "./rateLimited.ts"

const unauthenticated = () =>
  new Unauthenticated({ detail: "Send Authorization: Bearer <token> with a token that is still valid" })

const idOf = (credential: Credential): string =>
  credential._tag === "Session" ? credential.session.id : credential.token.id

export const AuthenticationLive = Layer.effect(
  Authentication,
  Effect.gen(function*() {
    const authenticator = yield* Authenticator
    const rate = yield* RequestRate
    const guard = yield* IpGuard
    return Authentication.of({
      bearer: Effect.fnUntraced(function*(token) {
        const request = yield* HttpServerRequest.HttpServerRequest
        // The stock decoder drops seven characters whatever the scheme is, so the scheme is checked here.
        if (!/^bearer /i.test(request.headers["authorization"] ?? "")) return yield* unauthenticated()
        const found = yield* authenticator.authenticate(token, yield* clientAddress).pipe(
          Effect.catchTag(
            "Authenticator/TokenAddressRefused",
            () => new TokenNetworkRefused({ detail: "The API token may not be used from this address" })
          )
        )
        const caller = Option.getOrUndefined(found)
        if (caller === undefined) return yield* unauthenticated()
        const { credential, user } = caller
        const facts = yield* CurrentRequest
        facts.user = user.username
        facts.credential = credential
        const wait = yield* rate.take(idOf(credential))
        if (Option.isSome(wait)) return yield* rateLimited("Too many requests with this token")(wait.value)
        if (facts.operation?.sessionOnly === true && credential._tag !== "Session") {
          return yield* new SessionRequired({ detail: "The operation takes a session, not an API token" })
        }
        if (!(yield* guard.admits(user.id, facts.address))) {
          return yield* new IpRestricted({ detail: "This account may not be used from your address" })
        }
        const permission = facts.operation?.permission
        if (permission !== undefined && !user.permissions.includes(permission)) {
          return yield* new Forbidden({ detail: `The operation needs the permission ${permission}`, permission })
        }
        return user
      })
    })
  })
)
