import { Args, Command, Options, Prompt } from "@effect/cli"
import type { Terminal } from "@effect/platform"
import { Console, Effect, Option, Redacted } from "effect"
import { anonymousClient } from "./connection.ts"
import { CommandFailed } from "./failure.ts"
import { secretInput } from "./secretInput.ts"

const username = Args.text({ name: "username" })

const code = Options.text("code").pipe(
  Options.optional,
  Options.withDescription("Code of the authenticator, or a recovery code; asked for where it is needed")
)

const codeInput = Effect.suspend((): Effect.Effect<
  string,
  CommandFailed | Terminal.QuitException,
  Prompt.Prompt.Environment
> =>
  process.stdin.isTTY
    ? Prompt.run(Prompt.text({ message: "Code of the authenticator, or a recovery code" }))
    : Effect.fail(new CommandFailed({ message: "a second factor is enrolled: give its code with --code" }))
)

export const login = Command.make("login", { username, code }, ({ code, username }) =>
  Effect.gen(function*() {
    const client = yield* anonymousClient
    const password = Redacted.value(yield* secretInput(`Password of ${username}`))
    const result = yield* client.signIn.login({ payload: { username, password } })
    if ("token" in result) return yield* Console.log(result.token)
    const given = (yield* Option.match(code, { onNone: () => codeInput, onSome: Effect.succeed })).trim()
    const proof = /^\d{6}$/.test(given) ? { code: given } : { recoveryCode: given }
    const verified = yield* client.signIn.verifyMfa({ payload: { mfaToken: result.mfaToken, ...proof } })
    yield* Console.log(verified.token)
  })).pipe(Command.withDescription("Sign in at NETOPS_URL and print the token, for NETOPS_TOKEN"))
