import { Config, Effect, Option } from "effect"
import { makeFetchClient } from "../api/client.ts"
import { CommandFailed } from "./failure.ts"

const baseUrl = Config.string("NETOPS_URL").pipe(Config.withDefault("http://127.0.0.1:8080"))

/** The client of the service at `NETOPS_URL`, for what needs no token. */
export const anonymousClient = Effect.flatMap(baseUrl, (url) => makeFetchClient({ baseUrl: url }))

/** The client of the service at `NETOPS_URL`, acting with `NETOPS_TOKEN`. */
export const authenticatedClient = Effect.gen(function*() {
  const token = yield* Config.option(Config.redacted("NETOPS_TOKEN"))
  if (Option.isNone(token)) {
    return yield* new CommandFailed({
      message: "NETOPS_TOKEN is not set; sign in first: export NETOPS_TOKEN=$(netops login admin)"
    })
  }
  return yield* makeFetchClient({ baseUrl: yield* baseUrl, token: token.value })
})
