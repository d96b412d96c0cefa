import type { HttpMethod } from "@effect/platform"
import { make as makeMatcher } from "find-my-way-ts"
import { endpoints } from "../../api/Api.ts"
import type { Endpoint } from "../../api/endpoints.ts"

/** Routes that stand beside the `HttpApi`: documents for people and generators. */
export const documentPaths = { openapi: "/openapi.json", docs: "/docs" } as const

const documents = Object.entries(documentPaths).map(([name, path]): Endpoint => ({
  id: `documents.${name}`,
  method: "GET",
  path,
  public: true,
  permission: undefined,
  sessionOnly: false,
  body: "none",
  contentType: "",
  traits: { idempotent: false, atomic: false, versioned: false },
  audited: false,
  plain: false
}))

const methods: ReadonlyArray<HttpMethod.HttpMethod> = ["GET", "POST", "PUT", "PATCH", "DELETE"]

const matcher = (() => {
  const router = makeMatcher<Endpoint>()
  for (const operation of [...endpoints, ...documents]) {
    router.on(operation.method as "GET", operation.path as "/", operation)
  }
  return router
})()

const find = (method: string, url: string): Endpoint | undefined => matcher.find(method as "GET", url)?.handler

/** The operation that answers a request; HEAD is answered as GET. */
export const operationFor = (method: string, url: string): Endpoint | undefined =>
  find(method === "HEAD" ? "GET" : method, url)

/** Methods that are served on the path of a request, for `Allow`. */
export const methodsFor = (url: string): ReadonlyArray<string> =>
  methods.filter((method) => find(method, url) !== undefined).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method]
  )
