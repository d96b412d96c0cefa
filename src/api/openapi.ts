import type { Endpoint } from "./endpoints.ts"
import { problemContentType } from "./Problem.ts"

type Json = Record<string, any>

const bodyStatuses = ["408", "413", "415"]

/** Every error is `application/problem+json`, and the decoder's own error is never sent. */
const polishResponses = (operation: Json) => {
  const responses: Json = operation["responses"]
  if (operation["requestBody"] === undefined) {
    for (const status of bodyStatuses) delete responses[status]
    const takes = (operation["parameters"] as ReadonlyArray<Json>).some((parameter) => parameter["in"] !== "path")
    if (!takes) delete responses["400"]
  }
  for (const [status, response] of Object.entries<Json>(responses)) {
    if (Number(status) < 400) continue
    const media = response["content"]?.["application/json"] ?? response["content"]?.[problemContentType]
    if (media === undefined || media.schema.$ref === "#/components/schemas/Readiness") continue
    const anyOf: ReadonlyArray<Json> = media.schema.anyOf ?? [media.schema]
    const kept = anyOf.filter((schema) => schema["$ref"] !== "#/components/schemas/HttpApiDecodeError")
    response["content"] = { [problemContentType]: { schema: kept.length === 1 ? kept[0] : { anyOf: kept } } }
    response["description"] = kept.map((schema) => String(schema["$ref"]).split("/").at(-1)).join(", ")
  }
}

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: false,
  schema: { type: "string" },
  description
})

const revision = { ETag: { schema: { type: "string" }, description: "the record's revision" } }

/** Headers that the shared machinery reads and writes. */
const polishHeaders = (operation: Json, endpoint: Endpoint) => {
  const { idempotent, versioned } = endpoint.traits
  const parameters: Array<Json> = operation["parameters"]
  if (idempotent) {
    parameters.push(header(
      "Idempotency-Key",
      "1 to 255 visible characters; the same request under the same key is answered once and remembered for 24 hours"
    ))
  }
  if (!versioned) return
  if (endpoint.method === "GET") {
    parameters.push(header("If-None-Match", "ETags; 304 where the record has one of them"))
    operation["responses"]["304"] = { description: "The record has a revision named in If-None-Match" }
  } else if (operation["responses"]["412"] !== undefined) {
    parameters.push(header("If-Match", "ETags; 412 where the record has none of them"))
  }
  if (endpoint.method === "DELETE") return
  for (const [status, response] of Object.entries<Json>(operation["responses"])) {
    if (status.startsWith("2")) response["headers"] = revision
  }
}

const anyObject = "/schemas/%7B%7D"

/** Schemas that stand at several places have no id of their own, and a body of any fields is an object. */
const polishSchemas = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  const schema = value as Json
  if (schema["$id"] === anyObject) {
    delete schema["anyOf"]
    schema["type"] = "object"
  }
  if (typeof schema["$id"] === "string") delete schema["$id"]
  Object.values(schema).forEach(polishSchemas)
}

/** Makes the generated document tell the truth about errors, absent bodies and permissions. */
export const polish = (spec: Json, endpoints: ReadonlyArray<Endpoint>): Json => {
  const known = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  for (const item of Object.values<Json>(spec["paths"])) {
    for (const operation of Object.values<Json>(item)) {
      polishResponses(operation)
      const endpoint = known.get(operation["operationId"])
      if (endpoint !== undefined) polishHeaders(operation, endpoint)
      if (endpoint?.permission !== undefined) operation["x-permission"] = endpoint.permission
      if (endpoint?.body === "optional") operation["requestBody"].required = false
    }
  }
  polishSchemas(spec)
  delete spec["components"].schemas["HttpApiDecodeError"]
  delete spec["components"].schemas["Issue"]
  delete spec["components"].schemas["PropertyKey"]
  return spec
}
