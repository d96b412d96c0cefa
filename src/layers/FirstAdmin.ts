import { Config, ConfigError, Console, Effect, Either, Layer, Option, Redacted, Schema } from "effect"
import { Password, passwordLength, Username } from "../schema/User.ts"
import { Ids } from "../services/Ids.ts"
import { Passwords } from "../services/Passwords.ts"
import { recordAct } from "../services/recordAct.ts"
import { UnitOfWork } from "../services/UnitOfWork.ts"
import { Users } from "../services/Users.ts"

const isPassword = Schema.is(Password)

// By hand, because the message of a schema would tell the value.
const configured = Config.redacted("NETOPS_ADMIN_PASSWORD").pipe(
  Config.mapOrFail((password) =>
    isPassword(Redacted.value(password))
      ? Either.right(password)
      : Either.left(ConfigError.InvalidData(
        ["NETOPS_ADMIN_PASSWORD"],
        `Expected a password of ${passwordLength.min} to ${passwordLength.max} characters`
      ))
  ),
  Config.option
)

const username = Username.make("admin")

/**
 * Creates `admin` where there are no users yet, with `NETOPS_ADMIN_PASSWORD`, or with a random password that is
 * printed this once and never logged.
 */
export const FirstAdminLive = Layer.effectDiscard(
  Effect.gen(function*() {
    const users = yield* Users
    if ((yield* users.count) > 0) return
    const passwords = yield* Passwords
    const ids = yield* Ids
    const unit = yield* UnitOfWork
    const given = yield* configured
    const password = yield* Option.match(given, { onNone: () => ids.secret, onSome: Effect.succeed })
    const passwordHash = yield* passwords.hash(password)
    const created = yield* unit.transaction(Effect.gen(function*() {
      const user = yield* users.createFirst({ username, role: "admin", passwordHash })
      if (Option.isSome(user)) {
        const { id, role } = user.value
        yield* recordAct({
          by: "system:start",
          operation: "users.create",
          target: String(id),
          after: { username, role }
        })
      }
      return user
    }))
    if (Option.isNone(created)) return
    yield* Effect.logInfo("created the first user, admin")
    if (Option.isNone(given)) {
      yield* Console.log(
        `\nFirst sign-in: user admin, password ${Redacted.value(password)}\n` +
          "It is shown this once; change it with: netops user passwd admin\n"
      )
    }
  })
)
