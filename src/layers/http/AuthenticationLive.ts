import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { Authentication } from "../../api/Auth.ts"
import { Forbidden, Unauthenticated } from "../../api/problems.ts"
import { IpRestricted } from "../../api/problems/access.ts"
import { IpGuard } from "../../services/IpGuard.ts"
import { SignIn } from "../../services/SignIn.ts"
import { CurrentRequest } from "./CurrentRequest.ts"

const unauthenticated = () =>
  new Unauthenticated({ detail: "Send Authorization: Bearer <token> with a token that is still valid" })

export const AuthenticationLive = Layer.effect(
  Authentication,
  Effect.map(Effect.all([SignIn, IpGuard]), ([signIn, guard]) =>
    Authentication.of({
      bearer: Effect.fnUntraced(function*(token) {
        const request = yield* HttpServerRequest.HttpServerRequest
        // The stock decoder drops seven characters whatever the scheme is, so the scheme is checked here.
        if (!/^bearer /i.test(request.headers["authorization"] ?? "")) return yield* unauthenticated()
        const user = Option.getOrUndefined(yield* signIn.authenticate(token))
        if (user === undefined) return yield* unauthenticated()
        const facts = yield* CurrentRequest
        facts.user = user.username
        if (!(yield* guard.admits(user.id, facts.address))) {
          return yield* new IpRestricted({ detail: "This account may not be used from your address" })
        }
        const permission = facts.operation?.permission
        if (permission !== undefined && !user.permissions.includes(permission)) {
          return yield* new Forbidden({ detail: `The operation needs the permission ${permission}`, permission })
        }
        return user
      })
    }))
)
