import { Effect, Redacted } from "effect"
import { createHash } from "node:crypto"

/** Opaque tokens by what they open: a session, an API token, or the second step of one login. */
export const tokenPrefixes = { session: "nop_s_", api: "nop_t_", mfa: "nop_m_" } as const
export type TokenKind = keyof typeof tokenPrefixes

const shapes: Readonly<Record<TokenKind, RegExp>> = {
  session: /^nop_s_[A-Za-z0-9_-]{43}$/,
  api: /^nop_t_[A-Za-z0-9_-]{43}$/,
  mfa: /^nop_m_[A-Za-z0-9_-]{43}$/
}

/** Whether a text has the form of a token of this kind. */
export const isToken = (kind: TokenKind, text: string): boolean => shapes[kind].test(text)

/** A token of 256 random bits, out of a secret of `Ids`. */
export const makeToken = (kind: TokenKind, secret: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(tokenPrefixes[kind] + Redacted.value(secret))

/** SHA-256 of a text's UTF-8 form, in hex: all that is ever stored of a token. */
export const sha256 = (text: string): Effect.Effect<string> =>
  Effect.sync(() => createHash("sha256").update(text).digest("hex"))
