import { Args, Command } from "@effect/cli"
import { Console, Effect, Redacted } from "effect"
import { anonymousClient } from "./connection.ts"
import { secretInput } from "./secretInput.ts"

const username = Args.text({ name: "username" })

export const login = Command.make("login", { username }, ({ username }) =>
  Effect.gen(function*() {
    const client = yield* anonymousClient
    const password = Redacted.value(yield* secretInput(`Password of ${username}`))
    const result = yield* client.signIn.login({ payload: { username, password } })
    yield* Console.log(result.token)
  })).pipe(Command.withDescription("Sign in at NETOPS_URL and print the token, for NETOPS_TOKEN"))
