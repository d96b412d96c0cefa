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

/** Makes the generated document tell the truth about errors, absent bodies and permissions. */
export const polish = (spec: Json, endpoints: ReadonlyArray<Endpoint>): Json => {
  const known = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  for (const item of Object.values<Json>(spec["paths"])) {
    for (const operation of Object.values<Json>(item)) {
      polishResponses(operation)
      const endpoint = known.get(operation["operationId"])
      if (endpoint?.permission !== undefined) operation["x-permission"] = endpoint.permission
      if (endpoint?.body === "optional") operation["requestBody"].required = false
    }
  }
  delete spec["components"].schemas["HttpApiDecodeError"]
  delete spec["components"].schemas["Issue"]
  delete spec["components"].schemas["PropertyKey"]
  return spec
}
