import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { CreatedApiToken } from "../../api/groups/ApiTokensApi.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { LastAdministrator, UsernameTaken } from "../../api/problems/identity.ts"
import { ApiTokenId } from "../../schema/ApiToken.ts"
import { type User, UserAnswer } from "../../schema/User.ts"
import { Accounts } from "../../services/Accounts.ts"
import { ApiTokens } from "../../services/ApiTokens.ts"
import { Users } from "../../services/Users.ts"
import { clientAddress, note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom, userIds } from "./ids.ts"
import { expected, preconditionFailed } from "./revisions.ts"

const actor = Effect.all({ user: CurrentUser, address: clientAddress })

const tokenId = idFrom(ApiTokenId, "token")
const invalid = (field: string, message: string) =>
  new InvalidRequest({
    detail: `The body is not valid at /${field}: ${message}`,
    errors: [{ in: "body", pointer: `/${field}`, message }]
  })

const created = <A, I>(schema: Schema.Schema<A, I>) => {
  const encode = Schema.encode(schema)
  return (value: A, location: string) =>
    Effect.map(
      Effect.orDie(encode(value)),
      (answer) => HttpServerResponse.unsafeJson(answer, { status: 201, headers: { location } })
    )
}
const createdToken = created(CreatedApiToken)
const createdUser = created(UserAnswer)
const told = (user: User) => Effect.orDie(Schema.encode(UserAnswer)(user))

export const ApiTokensHttp = group(
  Api,
  "apiTokens",
  Effect.fnUntraced(function*(handlers) {
    const tokens = yield* ApiTokens
    const accounts = yield* Accounts
    return handlers
      .handle("list", ({ urlParams }) =>
        CurrentUser.pipe(
          Effect.flatMap((user) => tokens.list(user.id, urlParams)),
          Effect.catchTag("Page/InvalidCursor", invalidCursor)
        ))
      .handle(
        "create",
        Effect.fnUntraced(
          function*({ payload }) {
            const { secret, token } = yield* accounts.createToken(yield* actor, payload)
            return yield* createdToken({ ...token, token: Redacted.value(secret) }, `/api/auth/tokens/${token.id}`)
          },
          Effect.catchTags({
            "Accounts/ScopesExceedRole": ({ scopes }) =>
              invalid("scopes", `Expected permissions that your role has; it lacks ${scopes.join(", ")}`),
            "Accounts/ExpiryPast": () => invalid("expiresAt", "Expected a time to come")
          })
        )
      )
      .handle(
        "get",
        Effect.fnUntraced(function*({ path }) {
          const { id } = yield* CurrentUser
          const found = yield* tokens.get(yield* tokenId.parse(path.id), id)
          return Option.isSome(found) ? found.value : yield* tokenId.missing()
        })
      )
      .handle(
        "delete",
        Effect.fnUntraced(function*({ path }) {
          const removed = yield* accounts.removeToken(yield* actor, yield* tokenId.parse(path.id))
          return removed ? { success: true as const, id: path.id } : yield* tokenId.missing()
        })
      )
  })
)

export const UsersHttp = group(
  Api,
  "users",
  Effect.fnUntraced(function*(handlers) {
    const users = yield* Users
    const accounts = yield* Accounts
    const find = Effect.fnUntraced(function*(text: string) {
      const found = yield* Effect.flatMap(userIds.parse(text), users.get)
      return Option.isSome(found) ? found.value : yield* userIds.missing()
    })
    return handlers
      .handle(
        "list",
        ({ urlParams }) => users.page(urlParams).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
      )
      .handle(
        "create",
        Effect.fnUntraced(
          function*({ payload: { password, role, username } }) {
            const user = yield* accounts.createUser(yield* actor, {
              username,
              role,
              password: Redacted.make(password)
            })
            yield* note({ target: String(user.id), after: yield* told(user), revision: user.revision })
            return yield* createdUser(user, `/api/users/${user.id}`)
          },
          Effect.catchTag(
            "Users/UsernameTaken",
            ({ username }) => new UsernameTaken({ detail: `There is a user ${username} already` })
          )
        )
      )
      .handle("get", ({ path }) => Effect.tap(find(path.id), ({ revision }) => note({ revision })))
      .handle(
        "update",
        Effect.fnUntraced(
          function*({ path, payload: { disabled, password, role } }) {
            const before = yield* find(path.id)
            const change = { role, disabled, password: password === undefined ? undefined : Redacted.make(password) }
            const user = yield* accounts.changeUser(yield* actor, before.id, change, yield* expected)
            yield* note({ before: yield* told(before), after: yield* told(user), revision: user.revision })
            return user
          },
          Effect.catchTags({
            "Users/UserMissing": userIds.missing,
            "Users/LastAdmin": () =>
              new LastAdministrator({ detail: "This is the last enabled administrator: make another one first" }),
            "Revision/RevisionMismatch": preconditionFailed
          })
        )
      )
  })
)
