import { Args, Command, Options } from "@effect/cli"
import { Console, Effect, Either, Layer, Option, Redacted, Schema } from "effect"
import { userInfo } from "node:os"
import { IdsCrypto } from "../layers/IdsCrypto.ts"
import { PasswordsArgon2 } from "../layers/PasswordsArgon2.ts"
import { AuditTrailPg } from "../layers/postgres/AuditTrailPg.ts"
import { MfaFactorsPg } from "../layers/postgres/MfaFactorsPg.ts"
import { migratePostgres, withMigrationLock } from "../layers/postgres/migrate.ts"
import { PostgresShared } from "../layers/postgres/Postgres.ts"
import { SessionsPg } from "../layers/postgres/SessionsPg.ts"
import { SignInAttemptsPg } from "../layers/postgres/SignInAttemptsPg.ts"
import { UnitOfWorkPg } from "../layers/postgres/UnitOfWorkPg.ts"
import { UsersPg } from "../layers/postgres/UsersPg.ts"
import { roles } from "../schema/Permission.ts"
import { Password, passwordLength, type User, Username } from "../schema/User.ts"
import { accountKey } from "../services/LoginGuard.ts"
import { MfaFactors } from "../services/MfaFactors.ts"
import { Passwords } from "../services/Passwords.ts"
import { recordAct } from "../services/recordAct.ts"
import { Sessions } from "../services/Sessions.ts"
import { SignInAttempts } from "../services/SignInAttempts.ts"
import { UnitOfWork } from "../services/UnitOfWork.ts"
import { Users } from "../services/Users.ts"
import { CommandFailed } from "./failure.ts"
import { secretInput } from "./secretInput.ts"

const StoreLive = Layer.mergeAll(
  UsersPg,
  SessionsPg,
  SignInAttemptsPg,
  MfaFactorsPg,
  AuditTrailPg,
  UnitOfWorkPg
).pipe(
  Layer.provide(Layer.effectDiscard(withMigrationLock(migratePostgres))),
  Layer.provide(PostgresShared),
  Layer.merge(PasswordsArgon2),
  Layer.merge(IdsCrypto)
)

// A container may know no name for its user.
const systemUser = Effect.try(() => userInfo().username).pipe(
  Effect.orElseSucceed(() => `uid ${String(process.getuid?.() ?? "unknown")}`)
)

/** Makes a change together with its entry in the audit trail, put down to the system's user at the console. */
const audited = <A extends User, E, R>(operation: string, change: Effect.Effect<A, E, R>) =>
  Effect.flatMap(UnitOfWork, (unit) =>
    unit.transaction(
      Effect.tap(change, ({ disabled, id, role, username }) =>
        Effect.flatMap(systemUser, (name) =>
          recordAct({
            by: `cli:${name}`,
            operation: `cli.user.${operation}`,
            target: String(id),
            after: { username, role, disabled }
          })))
    ))

const name = Args.text({ name: "username" }).pipe(Args.withSchema(Username))

const role = Options.choice("role", roles).pipe(
  Options.withDefault("viewer"),
  Options.withDescription("What the user may do; viewer unless given")
)

const newPassword = secretInput(`Password (${passwordLength.min} to ${passwordLength.max} characters)`).pipe(
  Effect.filterOrFail(
    (password) => Either.isRight(Schema.decodeEither(Password)(Redacted.value(password))),
    () => new CommandFailed({ message: `a password has ${passwordLength.min} to ${passwordLength.max} characters` })
  )
)

const hashed = Effect.flatMap(Effect.all([Passwords, newPassword]), ([passwords, password]) => passwords.hash(password))

const add = Command.make("add", { name, role }, ({ name, role }) =>
  Effect.gen(function*() {
    const users = yield* Users
    const passwordHash = yield* hashed
    const user = yield* audited("add", users.create({ username: name, role, passwordHash }))
    yield* Console.log(`Created user ${user.username} (id ${user.id}, role ${user.role})`)
  }).pipe(
    Effect.catchTag("Users/UsernameTaken", () => new CommandFailed({ message: `there is a user ${name} already` })),
    Effect.provide(StoreLive)
  )).pipe(Command.withDescription("Create a user; the password is asked for, or read from standard input"))

const passwd = Command.make("passwd", { name }, ({ name }) =>
  Effect.gen(function*() {
    const users = yield* Users
    const sessions = yield* Sessions
    const passwordHash = yield* hashed
    const user = yield* audited(
      "passwd",
      Effect.tap(users.setPassword(name, passwordHash), ({ id }) => sessions.endAll(id))
    )
    yield* Console.log(`Changed the password of ${user.username} and ended all sessions of that user`)
  }).pipe(
    Effect.catchTag("Users/UserMissing", () => new CommandFailed({ message: `there is no user ${name}` })),
    Effect.provide(StoreLive)
  )).pipe(Command.withDescription("Set a user's password and end all sessions of that user"))

const list = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const users = yield* Users
    for (const user of yield* users.list) {
      yield* Console.log(`${user.id}\t${user.username}\t${user.role}${user.disabled ? "\tdisabled" : ""}`)
    }
  }).pipe(Effect.provide(StoreLive))).pipe(Command.withDescription("List the users: id, name, role"))

const found = (name: Username) =>
  Effect.gen(function*() {
    const users = yield* Users
    const known = yield* users.findCredentials(name)
    if (Option.isNone(known)) return yield* new CommandFailed({ message: `there is no user ${name}` })
    return known.value.user
  })

const unlock = Command.make("unlock", { name }, ({ name }) =>
  Effect.gen(function*() {
    const attempts = yield* SignInAttempts
    const key = yield* accountKey(name)
    const user = yield* audited("unlock", Effect.tap(found(name), () => attempts.clear(key)))
    yield* Console.log(`Forgot the failed attempts of ${user.username}`)
  }).pipe(Effect.provide(StoreLive))).pipe(
    Command.withDescription("Lift the lock that failed attempts put on a user")
  )

const resetMfa = Command.make("reset-mfa", { name }, ({ name }) =>
  Effect.gen(function*() {
    const factors = yield* MfaFactors
    const sessions = yield* Sessions
    const user = yield* found(name)
    const removed = Option.isSome(yield* factors.find(user.id))
    const reset = Effect.zipRight(factors.remove(user.id), sessions.endAll(user.id))
    if (removed) yield* audited("reset-mfa", Effect.as(reset, user))
    yield* Console.log(
      removed
        ? `Removed the second factor of ${user.username} and ended all sessions of that user`
        : `${user.username} has no second factor`
    )
  }).pipe(Effect.provide(StoreLive))).pipe(
    Command.withDescription("Remove a user's second factor and end all sessions of that user")
  )

export const user = Command.make("user").pipe(
  Command.withDescription("Manage users in the store itself, also while the service runs"),
  Command.withSubcommands([add, passwd, list, unlock, resetMfa])
)
