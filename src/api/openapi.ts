import { problemContentType } from "./Problem.ts"

type Json = Record<string, any>

const operations = (spec: Json): ReadonlyArray<Json> =>
  Object.values<Json>(spec["paths"]).flatMap((item) => Object.values<Json>(item))

/** Every error is `application/problem+json`, and the decoder's own error is never sent. */
const polishResponses = (operation: Json) => {
  for (const [status, response] of Object.entries<Json>(operation["responses"])) {
    if (Number(status) < 400) continue
    const media = response["content"]?.["application/json"] ?? response["content"]?.[problemContentType]
    if (media === undefined || media.schema.$ref === "#/components/schemas/Readiness") continue
    const anyOf: ReadonlyArray<Json> = media.schema.anyOf ?? [media.schema]
    const kept = anyOf.filter((schema) => schema["$ref"] !== "#/components/schemas/HttpApiDecodeError")
    response["content"] = { [problemContentType]: { schema: kept.length === 1 ? kept[0] : { anyOf: kept } } }
    response["description"] = kept.map((schema) => String(schema["$ref"]).split("/").at(-1)).join(", ")
  }
}

/** Makes the generated document tell the truth about errors, bodies and permissions. */
export const polish = (spec: Json): Json => {
  for (const operation of operations(spec)) polishResponses(operation)
  delete spec["components"].schemas["HttpApiDecodeError"]
  delete spec["components"].schemas["Issue"]
  delete spec["components"].schemas["PropertyKey"]
  return spec
}
