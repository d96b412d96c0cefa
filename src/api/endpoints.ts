import { HttpApi, type HttpApiEndpoint, type HttpMethod } from "@effect/platform"
import { Context, Option } from "effect"
import type { Permission } from "../schema/Permission.ts"
import { Authentication } from "./Auth.ts"
import { BodyLimit, BodyMode, PlainBodies, Requires, RequiresSession, Traits, Unaudited } from "./Contract.ts"

/** What an endpoint's declaration says of itself beside its schemas. */
export interface Endpoint {
  /** `group.endpoint`, the operationId of the OpenAPI document. */
  readonly id: string
  readonly method: HttpMethod.HttpMethod
  readonly path: string
  readonly public: boolean
  readonly permission: Permission | undefined
  /** Whether an API token is refused. */
  readonly sessionOnly: boolean
  readonly body: "none" | "required" | "optional" | "stream"
  /** Most bytes of a decoded body; `undefined` is the usual limit. */
  readonly bodyBytesMax?: number | undefined
  /** Media type of the body. */
  readonly contentType: string
  readonly traits: typeof Traits.Service
  /** Whether calls are recorded in the audit trail: all but reads, trials and observations. */
  readonly audited: boolean
  /** Whether its bodies hold no secret, and so are remembered and recorded as they are. */
  readonly plain: boolean
}

const noTraits = { idempotent: false, atomic: false, versioned: false }

const bodyOf = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps): Pick<Endpoint, "body" | "contentType"> => {
  const mode = Option.getOrUndefined(Context.getOption(endpoint.annotations, BodyMode))
  if (mode?.mode === "stream") return { body: "stream", contentType: mode.contentType }
  const none = Option.isNone(endpoint.payloadSchema) || endpoint.method === "GET"
  return { body: none ? "none" : mode?.mode ?? "required", contentType: "application/json" }
}

/** Every endpoint that an API declares. */
export const endpointsOf = (api: unknown): ReadonlyArray<Endpoint> => {
  const endpoints: Array<Endpoint> = []
  HttpApi.reflect(api as HttpApi.HttpApi<string, never, never, never>, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: declared, group, middleware }) => {
      const endpoint = declared as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
      endpoints.push({
        id: `${group.identifier}.${endpoint.name}`,
        method: endpoint.method,
        path: endpoint.path,
        public: ![...middleware].some((tag) => tag.key === Authentication.key),
        permission: Option.getOrUndefined(Context.getOption(endpoint.annotations, Requires)),
        bodyBytesMax: Option.getOrUndefined(Context.getOption(endpoint.annotations, BodyLimit)),
        sessionOnly: Context.get(endpoint.annotations, RequiresSession),
        traits: Option.getOrElse(Context.getOption(endpoint.annotations, Traits), () => noTraits),
        plain: Context.get(endpoint.annotations, PlainBodies),
        audited: endpoint.method !== "GET" && !Context.get(endpoint.annotations, Unaudited),
        ...bodyOf(endpoint)
      })
    }
  })
  return endpoints
}
