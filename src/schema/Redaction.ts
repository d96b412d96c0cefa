import { Redacted } from "effect"

const secretKeys =
  /pass(?:word|phrase|wd)|secret|token|otp|recovery|credential|api_?key|private_?key|authorization|cookie/i
const secretKeysWhole = /^(?:code|auth|pin|key|key_file|key_pass|headers)$/i

/** What stands in place of a secret. */
export const redacted = "[redacted]"

const depthMax = 64

/** Postgres keeps no NUL in text, and hashing needs well-formed strings. */
const wellFormed = (text: string): string => text.replace(/[\0\p{Cs}]/gu, "\uFFFD")

/** Who a URL says to be, often with a password (RFC 3986, section 3.2.1). */
const userinfo = /(?<=[a-z][a-z0-9+.-]*:\/\/)[^\s/?#]+(?=@)/gi

const isSecret = (key: string, item: unknown): boolean =>
  item !== null && typeof item !== "boolean" && (secretKeys.test(key) || secretKeysWhole.test(key))

const clean = (value: unknown, secretive: boolean, depth: number): unknown => {
  if (Redacted.isRedacted(value)) return redacted
  if (typeof value === "string") return wellFormed(secretive ? value.replace(userinfo, redacted) : value)
  if (typeof value === "number") return Number.isFinite(value) ? value : null
  if (typeof value === "boolean" || value === null) return value
  if (typeof value === "bigint") return String(value)
  if (typeof value !== "object") return undefined
  if (depth >= depthMax) return null
  if ("toJSON" in value && typeof value.toJSON === "function") return clean(value.toJSON(), secretive, depth + 1)
  if (Array.isArray(value)) return value.map((item) => clean(item, secretive, depth + 1) ?? null)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const kept = secretive && isSecret(key, item) ? redacted : clean(item, secretive, depth + 1)
      return kept === undefined ? [] : [[wellFormed(key), kept]]
    })
  )
}

/**
 * A JSON value without secrets: whatever stands under a key that names one, in a URL before its host, and every
 * `Redacted`, is replaced. What JSON can't hold is left out.
 */
export const redact = (value: unknown): unknown => clean(value, true, 0)

/** As `redact`, for a value whose keys name no secrets, such as a ruleset: only `Redacted` is replaced. */
export const storable = (value: unknown): unknown => clean(value, false, 0)
