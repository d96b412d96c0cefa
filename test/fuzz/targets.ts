import { HttpApi, type HttpApiEndpoint, OpenApi } from "@effect/platform"
import { Either, FastCheck as fc, Option, Schema } from "effect"
import { Api, endpoints } from "../../src/api/Api.ts"
import type { Endpoint } from "../../src/api/endpoints.ts"
import { valuesOf } from "./jsonSchema.ts"

type Json = Record<string, any>
type AnySchema = Schema.Schema<unknown, unknown>

/** An operation with what fuzzing needs of its declaration. */
export interface Target {
  readonly operation: Endpoint
  /** Bodies that its document describes, as they go over the wire; none where it decodes none. */
  readonly body: fc.Arbitrary<unknown> | undefined
  readonly query: fc.Arbitrary<Readonly<Record<string, string>>>
  /** Whether the declared schema takes a body; a document says less than a schema checks. */
  readonly takesBody: (body: unknown) => boolean
  readonly takesQuery: (query: unknown) => boolean
  readonly pathNames: ReadonlyArray<string>
  /** Whether it answers with a stream of events that doesn't end. */
  readonly streams: boolean
}

export const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api))) as Json

const schemas = new Map<string, { readonly body: AnySchema | undefined; readonly query: AnySchema | undefined }>()
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint, group }) => {
    const { payloadSchema, urlParamsSchema } = endpoint as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
    schemas.set(`${group.identifier}.${endpoint.name}`, {
      body: Option.getOrUndefined(payloadSchema) as AnySchema | undefined,
      query: Option.getOrUndefined(urlParamsSchema) as AnySchema | undefined
    })
  }
})

const values = valuesOf(document)

const takes = (schema: AnySchema | undefined) => {
  if (schema === undefined) return () => true
  const decode = Schema.decodeUnknownEither(schema as Schema.Schema<unknown, unknown>)
  return (value: unknown) => Either.isRight(decode(value))
}

/** Parameters that are taken from an answer: their schemas say nothing of what they hold. */
const fromAnswers = ["cursor", "batch", "hash"]

const targetOf = (operation: Endpoint): Target => {
  const { body, query } = schemas.get(operation.id)!
  const declared = document["paths"][operation.path.replace(/:(\w+)/g, "{$1}")][operation.method.toLowerCase()] as Json
  const bodied = operation.body === "required" || operation.body === "optional"
  const content = declared["requestBody"]?.content["application/json"]?.schema as Json | undefined
  const parameters = (declared["parameters"] as Array<Json>).filter((parameter) =>
    parameter["in"] === "query" && !fromAnswers.includes(parameter["name"] as string)
  )
  return {
    operation,
    body: bodied && content !== undefined ? values(content) : undefined,
    query: fc.record(
      Object.fromEntries(
        parameters.map((
          parameter
        ) => [parameter["name"], values(parameter["schema"] as Json, parameter["name"]).map(String)])
      ),
      {
        requiredKeys: parameters.filter((parameter) => parameter["required"]).map((parameter) => parameter["name"]),
        noNullPrototype: true
      }
    ),
    takesBody: takes(body),
    takesQuery: takes(query),
    pathNames: [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name!),
    streams: "text/event-stream" in (declared["responses"]["200"]?.content ?? {})
  }
}

export const targets: ReadonlyArray<Target> = endpoints.map(targetOf)
