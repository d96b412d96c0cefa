import { OpenApi } from "@effect/platform"
import { assert, describe, expect, it } from "@effect/vitest"
import { Api, endpoints } from "../../src/api/Api.ts"

type Json = Record<string, any>

const spec = JSON.parse(JSON.stringify(OpenApi.fromApi(Api))) as Json
const operations = Object.entries<Json>(spec.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]) => ({ path, method, operation }))
)

/** Every object of the document, with the pointer to it. */
const objectsOf = (value: unknown, pointer = "#"): ReadonlyArray<readonly [string, Json]> => {
  if (typeof value !== "object" || value === null) return []
  const below = Object.entries(value).flatMap(([key, child]) =>
    objectsOf(child, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`)
  )
  return [[pointer, value], ...below]
}
const objects = objectsOf(spec)
const pointers = new Set(objects.map(([pointer]) => pointer))

describe("the OpenAPI document", () => {
  it("is the one that is checked in", async () => {
    await expect(`${JSON.stringify(spec, null, 2)}\n`).toMatchFileSnapshot("openapi.json")
  })

  it("holds every endpoint once", () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.deepStrictEqual([...ids].sort(), endpoints.map(({ id }) => id).sort())
    const served = endpoints.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`)
    assert.deepStrictEqual(
      operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort(),
      served.sort()
    )
  })

  it("is OpenAPI 3.1 whose references resolve", () => {
    assert.match(spec.openapi, /^3\.1\./)
    for (const [pointer, object] of objects) {
      if (typeof object.$ref === "string") assert.isTrue(pointers.has(object.$ref), `${pointer}: ${object.$ref}`)
    }
    const used = new Set(objects.map(([, object]) => object.$ref))
    for (const name of Object.keys(spec.components.schemas)) {
      assert.isTrue(used.has(`#/components/schemas/${name}`), `${name} is used`)
    }
  })

  it("declares the parameters of each path", () => {
    for (const { operation, path } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const declared = operation.parameters.filter((parameter: Json) => parameter.in === "path")
      assert.sameMembers(declared.map((parameter: Json) => parameter.name), named, path)
      for (const parameter of declared) assert.isTrue(parameter.required, path)
    }
  })

  it("describes each operation and each answer", () => {
    for (const { operation, path } of operations) {
      assert.isAbove(operation.summary?.length ?? 0, 0, path)
      assert.isAbove(Object.keys(operation.responses).length, 0, path)
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        assert.isAbove(response.description.length, 0, `${path} ${status}`)
      }
    }
  })

  it("answers every error with a problem whose members are all required", () => {
    const eight = ["type", "title", "status", "detail", "instance", "error", "details", "requestId"]
    for (const { operation, path } of operations) {
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        if (Number(status) < 400 || operation.operationId === "health.ready" && status === "503") continue
        assert.deepStrictEqual(Object.keys(response.content), ["application/problem+json"], `${path} ${status}`)
        const { schema } = response.content["application/problem+json"]
        for (const { $ref } of schema.anyOf ?? [schema]) {
          const problem = spec.components.schemas[$ref.split("/").at(-1)]
          assert.includeMembers(problem.required, eight, $ref)
          assert.notInclude(Object.keys(problem.properties), "_tag")
          assert.deepStrictEqual(problem.properties.status.enum, [Number(status)], $ref)
        }
      }
    }
  })

  it("declares for each operation what it can fail with", () => {
    for (const { method, operation, path } of operations) {
      const statuses = Object.keys(operation.responses)
      const name = `${method} ${path}`
      assert.include(statuses, "500", name)
      // Signing in is refused to addresses that the user's restrictions refuse.
      const refuses = operation.security.length > 0 || operation.operationId === "signIn.login"
      assert.strictEqual(statuses.includes("403"), refuses, name)
      if (operation.security.length > 0) assert.include(statuses, "401", name)
      if (operation.requestBody !== undefined) assert.includeMembers(statuses, ["400", "413", "415"], name)
      assert.strictEqual(statuses.includes("413"), operation.requestBody !== undefined, name)
      if (path.includes("{")) assert.include(statuses, "404", name)
    }
  })

  it("has no trace of the decoder's own error", () => {
    assert.notInclude(JSON.stringify(spec), "HttpApiDecodeError")
    assert.notInclude(JSON.stringify(spec), "\"_tag\"")
  })

  it("says which bodies may be absent", () => {
    for (const endpoint of endpoints) {
      const { operation } = operations.find(({ operation }) => operation.operationId === endpoint.id)!
      if (endpoint.body === "none") assert.notProperty(operation, "requestBody", endpoint.id)
      else assert.strictEqual(operation.requestBody.required, endpoint.body !== "optional", endpoint.id)
    }
  })
})
