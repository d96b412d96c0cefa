import { FetchHttpClient, HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { Data, Effect, Redacted, Schedule } from "effect"
import { Api } from "./Api.ts"

/** Where the service is and as whom to call it; without a token only the public endpoints answer. */
export interface ClientOptions {
  readonly baseUrl: string
  readonly token?: Redacted.Redacted | undefined
}

/**
 * The derived client over any `HttpClient`: every endpoint as a function with typed success and problem channels.
 * Only GETs that fail on the way are tried again.
 */
export const makeClient = (options: ClientOptions) =>
  HttpApiClient.make(Api, {
    baseUrl: options.baseUrl,
    transformClient: (client) =>
      client.pipe(
        HttpClient.mapRequest((request) =>
          options.token === undefined ? request : HttpClientRequest.bearerToken(request, options.token)
        ),
        HttpClient.transform((effect, request) =>
          request.method === "GET"
            ? Effect.retry(effect, {
              while: (error) => error._tag === "RequestError" && error.reason === "Transport",
              schedule: Schedule.intersect(Schedule.exponential("200 millis"), Schedule.recurs(2))
            })
            : effect
        )
      )
  })

/** `makeClient` over the platform's `fetch`. */
export const makeFetchClient = (options: ClientOptions) =>
  makeClient(options).pipe(Effect.provide(FetchHttpClient.layer))

export type Client = Effect.Effect.Success<ReturnType<typeof makeClient>>

/** The account has a second factor: complete the login with `signIn.verifyMfa`. */
export class SecondFactorRequired extends Data.TaggedError("SecondFactorRequired")<{ readonly mfaToken: string }> {
  override readonly message = "the account has a second factor"
}

/** Signs in an account that has no second factor and gives its token. */
export const tokenByPassword = (
  client: Client,
  credentials: { readonly username: string; readonly password: string }
) =>
  Effect.flatMap(client.signIn.login({ payload: credentials }), (result) =>
    "token" in result
      ? Effect.succeed(Redacted.make(result.token))
      : new SecondFactorRequired({ mfaToken: result.mfaToken }))

/** Decode a rule from JSON with it, so that what it leaves out has its default. */
export { RuleDraft } from "../schema/AutomationRule.ts"
/** Decode a filter from JSON with it, so that its values have their canonical forms. */
export { DhcpFilterDraft } from "../schema/DhcpFilter.ts"
export { Api } from "./Api.ts"
export * as Problems from "./problems.ts"
export * as AccessProblems from "./problems/access.ts"
export * as AutomationProblems from "./problems/automation.ts"
export * as EnforcementProblems from "./problems/enforcement.ts"
export * as FirewallProblems from "./problems/firewall.ts"
export * as MetricsProblems from "./problems/metrics.ts"
export * as NotificationProblems from "./problems/notifications.ts"
export * as StreamProblems from "./problems/stream.ts"
