import { HttpClient, HttpClientRequest } from "@effect/platform"
import { assert } from "@effect/vitest"
import { Effect, Redacted, type Stream } from "effect"

/** A request as its parts; the content type is sent only where it is named. */
export interface Call {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | Stream.Stream<Uint8Array>
  readonly token?: Redacted.Redacted | undefined
  /** Whether a stream of events, which often has no end, is read to its end. */
  readonly toEnd?: boolean
}

/** An answer as it came, with its JSON where it is some. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: any
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const withBody = (body: NonNullable<Call["body"]>, contentType: string) => {
  if (typeof body === "string") return HttpClientRequest.bodyText(body, contentType)
  return body instanceof Uint8Array
    ? HttpClientRequest.bodyUint8Array(body, contentType)
    : HttpClientRequest.bodyStream(body, { contentType })
}

/** Sends a request as it is told, without the manners of the derived client. */
export const call = Effect.fnUntraced(
  function*(method: string, path: string, { body, headers = {}, toEnd = false, token }: Call = {}) {
    const bare = HttpClientRequest.make(method as "GET")(`http://test${path}`)
    const full = body === undefined ? bare : withBody(body, headers["content-type"] ?? "application/json")(bare)
    const authorized = token === undefined ? full : HttpClientRequest.bearerToken(full, token)
    const response = yield* HttpClient.execute(HttpClientRequest.setHeaders(authorized, headers))
    const endless = !toEnd && response.headers["content-type"]?.startsWith("text/event-stream") === true
    const text = endless ? "" : yield* response.text
    return { status: response.status, headers: response.headers, text, json: jsonOf(text) } as Answer
  },
  Effect.orDie
)

/** Sends a value as JSON. */
export const callJson = (method: string, path: string, value: unknown, token?: Redacted.Redacted) =>
  call(method, path, { body: JSON.stringify(value), token })

const members = ["type", "title", "status", "detail", "instance", "error", "details", "requestId"]

/** Holds an answer to the one error body of a problem type; gives its members. */
export const assertProblem = (answer: Answer, status: number, slug: string) => {
  const { headers, json } = answer
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(headers["content-type"], "application/problem+json")
  assert.strictEqual(headers["cache-control"], "no-store")
  for (const member of members) assert.property(json, member)
  assert.strictEqual(json.type, `/problems/${slug}`)
  assert.strictEqual(json.status, status)
  assert.match(json.instance, /^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.strictEqual(json.requestId, headers["x-request-id"])
  assert.isAbove(json.title.length, 0)
  assert.isAbove(json.detail.length, 0)
  assert.strictEqual(json.error, json.detail)
  assert.isObject(json.details)
  for (const message of Object.values(json.details)) assert.isString(message)
  assert.notProperty(json, "_tag")
  return json
}
