import { Redacted } from "effect"
import { Secret, TOTP } from "otpauth"

const issuer = "Network Operations"
const period = 30
const window = 1

const totp = (secret: Redacted.Redacted, label = "") =>
  new TOTP({ issuer, label, algorithm: "SHA1", digits: 6, period, secret: Secret.fromBase32(Redacted.value(secret)) })

/** A TOTP secret in base32 (RFC 4648) from 160 of the bits of a SHA-256 in hex. */
export const totpSecret = (digest: string): Redacted.Redacted =>
  Redacted.make(Secret.fromHex(digest.slice(0, 40)).base32)

/** The `otpauth://` URI by which authenticator apps take the secret over. */
export const totpUri = (secret: Redacted.Redacted, username: string): string => totp(secret, username).toString()

/** The time step (RFC 6238, 30 s) that a code of six digits is of, one before and one after now being in time. */
export const totpStep = (secret: Redacted.Redacted, code: string, nowMillis: number): number | undefined => {
  if (!/^\d{6}$/.test(code)) return undefined
  const delta = totp(secret).validate({ token: code, timestamp: nowMillis, window })
  return delta === null ? undefined : Math.floor(nowMillis / 1000 / period) + delta
}

/** The code of a moment. */
export const totpCode = (secret: Redacted.Redacted, nowMillis: number): string =>
  totp(secret).generate({ timestamp: nowMillis })

const crockfordLike = "abcdefghijkmnpqrstuvwxyz23456789"

/** A recovery code of 80 bits, `xxxx-xxxx-xxxx-xxxx`, from the bits of a SHA-256 in hex. */
export const recoveryCode = (digest: string): string => {
  const letters = Array.from(
    { length: 16 },
    (_, index) => crockfordLike[Number.parseInt(digest.slice(index * 2, index * 2 + 2), 16) & 31]!
  )
  return letters.join("").replace(/(.{4})(?=.)/g, "$1-")
}

/** What a typed recovery code is compared by: case and separators don't matter. */
export const normalRecoveryCode = (typed: string): string => typed.toLowerCase().replace(/[^a-z0-9]/g, "")
