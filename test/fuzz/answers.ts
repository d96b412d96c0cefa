import { assert } from "@effect/vitest"
import addFormats from "ajv-formats"
import { Ajv2020 } from "ajv/dist/2020.js"
import type { Endpoint } from "../../src/api/endpoints.ts"
import { type Answer, assertProblem } from "../support/client.ts"

type Json = Record<string, any>

const pointerOf = (...keys: ReadonlyArray<string>) =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("")

/** Most octets of an answer that may repeat what the request said. */
const echoMax = 8 * 1024

/** Holds answers to an OpenAPI document: status, media type and body are documented, errors are the one error body. */
export const answersOf = (document: Json) => {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: "openapi", ...document })
  return {
    check: ({ id, method, path }: Endpoint, answer: Answer, sent: string) => {
      const told = `${id}: ${answer.status} to ${sent.slice(0, 2000)}: ${answer.text.slice(0, 1000)}`
      assert.isBelow(answer.status, 500, told)
      assert.strictEqual(answer.headers["x-content-type-options"], "nosniff", told)
      assert.isString(answer.headers["x-request-id"], told)
      const place = ["paths", path.replace(/:(\w+)/g, "{$1}"), method.toLowerCase(), "responses", String(answer.status)]
      const documented = place.reduce((at: Json | undefined, key) => at?.[key] as Json | undefined, document)
      assert.isDefined(documented, `status is documented: ${told}`)
      if (answer.status >= 400) {
        assertProblem(answer, answer.status, String(answer.json?.type).replace("/problems/", ""))
        if (sent.length > echoMax) assert.isAtMost(answer.text.length, echoMax, told)
      }
      const type = answer.headers["content-type"]?.split(";")[0]
      const content = documented!["content"] as Json | undefined
      if (content === undefined) return assert.strictEqual(answer.text, "", told)
      assert.property(content, type ?? "no content type", told)
      if (!type!.endsWith("json")) return
      const validate = ajv.getSchema(`openapi#${pointerOf(...place, "content", type!, "schema")}`)
      assert.isDefined(validate, `schema of ${told}`)
      assert.isTrue(validate!(answer.json), `${JSON.stringify(validate!.errors)?.slice(0, 1000)}\n${told}`)
    }
  }
}
