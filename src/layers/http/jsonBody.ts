import { type HttpServerError, HttpServerRequest } from "@effect/platform"
import { Effect, type Exit } from "effect"
import type { Endpoint } from "../../api/endpoints.ts"
import { InvalidRequest, PayloadTooLarge, RequestTimeout, UnsupportedMediaType } from "../../api/problems.ts"
import { discardBody, requestBody } from "./requestOctets.ts"

/** Limits of a decoded request body; streams have their own. */
export const bodyLimits = { bytes: 1024 * 1024, depth: 64, arrival: "30 seconds" } as const

type BodyProblem = InvalidRequest | PayloadTooLarge | RequestTimeout | UnsupportedMediaType

const invalid = (message: string) =>
  new InvalidRequest({
    detail: `The body is not valid: ${message}`,
    errors: [{ in: "body", pointer: "", message }]
  })

const tooLarge = (bytesMax: number) =>
  new PayloadTooLarge({ detail: `The body exceeds the limit of ${bytesMax} bytes` })

/** Whether brackets outside of strings nest deeper than the limit; parsers recurse on them. */
const tooDeep = (bytes: Uint8Array): boolean => {
  let depth = 0
  let quoted = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (quoted) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) quoted = false
    } else if (byte === 0x22) quoted = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > bodyLimits.depth) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Where V8 says a text stops being JSON, without the text itself that its message quotes. */
const placeOf = (error: unknown): string => {
  const place = /at position (\d+)/.exec(error instanceof Error ? error.message : "")
  return place === null ? "" : ` at character ${place[1]}`
}

const parse = (bytes: Uint8Array): Effect.Effect<unknown, InvalidRequest> =>
  Effect.suspend(() => {
    if (tooDeep(bytes)) return Effect.fail(invalid(`Expected JSON nested at most ${bodyLimits.depth} levels deep`))
    let text: string
    try {
      text = utf8.decode(bytes)
    } catch {
      return Effect.fail(invalid("Expected UTF-8"))
    }
    try {
      const value = JSON.parse(text) as unknown
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
      return isObject ? Effect.succeed(value) : Effect.fail(invalid("Expected a JSON object"))
    } catch (error) {
      return Effect.fail(invalid(`Expected JSON; it is malformed${placeOf(error)}`))
    }
  })

/** Refuses a media type or coding that the operation does not take. */
export const checkMediaType = (
  operation: Endpoint,
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<void, UnsupportedMediaType> => {
  const [type = "", ...parameters] = (request.headers["content-type"] ?? "").toLowerCase().split(";")
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="))
  const coding = request.headers["content-encoding"]?.toLowerCase() ?? "identity"
  if (type.trim() !== operation.contentType) {
    return Effect.fail(
      new UnsupportedMediaType({ detail: `Send the body with Content-Type: ${operation.contentType}` })
    )
  }
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    return Effect.fail(new UnsupportedMediaType({ detail: "Send the body in UTF-8" }))
  }
  if (coding !== "identity") {
    return Effect.fail(new UnsupportedMediaType({ detail: "Send the body without Content-Encoding" }))
  }
  return Effect.void
}

/** Whether the request brings a body at all. */
export const hasBody = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0

const read = (
  operation: Endpoint,
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<unknown, BodyProblem | HttpServerError.RequestError> => {
  if (!hasBody(request)) {
    return operation.body === "optional"
      ? Effect.succeed({})
      : Effect.fail(invalid("Expected a JSON body; there is none"))
  }
  const bytesMax = operation.bodyBytesMax ?? bodyLimits.bytes
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) {
    return Effect.zipRight(discardBody(request), Effect.fail(tooLarge(bytesMax)))
  }
  return checkMediaType(operation, request).pipe(
    Effect.zipRight(requestBody<PayloadTooLarge | RequestTimeout>(request, {
      bytesMax,
      arrival: bodyLimits.arrival,
      tooLarge: () => tooLarge(bytesMax),
      late: () => new RequestTimeout({ detail: `The body did not arrive within ${bodyLimits.arrival}` })
    })),
    Effect.flatMap(parse)
  )
}

/**
 * The request with a JSON body that is read, bounded and parsed once, when the handlers' decoder asks for it: after the
 * caller is known. An absent body is `{}` where the operation takes none; multipart, forms and texts, which the stock
 * decoder would take for JSON payloads, are refused here.
 */
export const withJsonBody = (
  operation: Endpoint,
  request: HttpServerRequest.HttpServerRequest
): HttpServerRequest.HttpServerRequest => {
  let known: Exit.Exit<unknown, BodyProblem | HttpServerError.RequestError> | undefined
  const json = Effect.suspend(() =>
    known ?? Effect.onExit(read(operation, request), (exit) => Effect.sync(() => void (known = exit)))
  )
  return Object.create(request, {
    json: { value: json },
    headers: { value: { ...request.headers, "content-type": "application/json" } }
  }) as HttpServerRequest.HttpServerRequest
}
