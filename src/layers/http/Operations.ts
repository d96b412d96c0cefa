import { HttpApi, type HttpApiEndpoint, type HttpMethod } from "@effect/platform"
import { Context, Option } from "effect"
import { make as makeMatcher } from "find-my-way-ts"
import { Api } from "../../api/Api.ts"
import { Authentication } from "../../api/Auth.ts"
import { BodyMode, Requires } from "../../api/Contract.ts"
import type { Permission } from "../../schema/Permission.ts"

/** What the boundary needs to know of an endpoint before its handler runs. */
export interface Operation {
  /** `group.endpoint`, as the OpenAPI document names it. */
  readonly id: string
  readonly method: HttpMethod.HttpMethod
  readonly path: string
  readonly public: boolean
  readonly permission: Permission | undefined
  readonly body: "none" | "required" | "optional" | "stream"
  readonly contentType: string
}

/** Routes that stand beside the `HttpApi`: documents for people and generators. */
export const documentPaths = { openapi: "/openapi.json", docs: "/docs" } as const

const bodyOf = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps): Pick<Operation, "body" | "contentType"> => {
  const mode = Option.getOrUndefined(Context.getOption(endpoint.annotations, BodyMode))
  if (mode?.mode === "stream") return { body: "stream", contentType: mode.contentType }
  const none = Option.isNone(endpoint.payloadSchema) || endpoint.method === "GET"
  return { body: none ? "none" : mode?.mode ?? "required", contentType: "application/json" }
}

const collect = (): ReadonlyArray<Operation> => {
  const operations: Array<Operation> = []
  HttpApi.reflect(Api as unknown as HttpApi.HttpApi<string, never, never, never>, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: any, group, middleware }) => {
      const endpoint = any as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
      operations.push({
        id: `${group.identifier}.${endpoint.name}`,
        method: endpoint.method,
        path: endpoint.path,
        public: ![...middleware].some((tag) => tag.key === Authentication.key),
        permission: Option.getOrUndefined(Context.getOption(endpoint.annotations, Requires)),
        ...bodyOf(endpoint)
      })
    }
  })
  for (const [name, path] of Object.entries(documentPaths)) {
    operations.push({
      id: `documents.${name}`,
      method: "GET",
      path,
      public: true,
      permission: undefined,
      body: "none",
      contentType: ""
    })
  }
  return operations
}

/** Every operation of the service. */
export const operations: ReadonlyArray<Operation> = collect()

const methods: ReadonlyArray<HttpMethod.HttpMethod> = ["GET", "POST", "PUT", "PATCH", "DELETE"]

const matcher = (() => {
  const router = makeMatcher<Operation>()
  for (const operation of operations) router.on(operation.method as "GET", operation.path as "/", operation)
  return router
})()

const find = (method: string, url: string): Operation | undefined => matcher.find(method as "GET", url)?.handler

/** The operation that answers a request; HEAD is answered as GET. */
export const operationFor = (method: string, url: string): Operation | undefined =>
  find(method === "HEAD" ? "GET" : method, url)

/** Methods that are served on the path of a request, for `Allow`. */
export const methodsFor = (url: string): ReadonlyArray<string> =>
  methods.filter((method) => find(method, url) !== undefined).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method]
  )
