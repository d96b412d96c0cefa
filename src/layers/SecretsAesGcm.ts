import { Config, Data, Effect, Layer, Option, Redacted } from "effect"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { link, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Secrets } from "../services/Secrets.ts"
import { DataDir, DataDirLive } from "./DataDir.ts"

/** No key for stored secrets: `message` is the one line for the operator. */
export class SecretKeyUnusable extends Data.TaggedError("SecretKeyUnusable")<{ readonly message: string }> {}

const keyBytes = 32
const version = "v1"

const configured = Config.option(Config.redacted("NETOPS_SECRET_KEY")).pipe(
  Config.map(Option.filter((key) => Redacted.value(key).trim() !== ""))
)

/** 32 bytes of hex or base64 text (also base64url), else `undefined`. */
export const parseKey = (text: string): Buffer | undefined => {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, "hex")
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return undefined
  const key = Buffer.from(trimmed, "base64")
  return key.length === keyBytes ? key : undefined
}

const readKey = async (path: string): Promise<Buffer | undefined> => {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined
    throw error
  })
  if (text === undefined) return undefined
  const key = parseKey(text)
  if (key === undefined) throw new Error(`${path} holds no key`)
  return key
}

// Written aside and linked into place, so that of several processes one makes the key and nobody reads half of it.
const ownKey = async (directory: string): Promise<Buffer> => {
  const path = join(directory, "secret.key")
  const kept = await readKey(path)
  if (kept !== undefined) return kept
  const draft = join(directory, `secret.key.${randomBytes(6).toString("hex")}`)
  await writeFile(draft, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: 0o600, flag: "wx", flush: true })
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error
  }).finally(() => rm(draft, { force: true }))
  return (await readKey(path))!
}

const inDataDir = Effect.gen(function*() {
  const { path } = yield* DataDir
  return yield* Effect.tryPromise({
    try: () => ownKey(path),
    catch: (cause) => new SecretKeyUnusable({ message: `NETOPS_SECRET_KEY is not set: ${(cause as Error).message}` })
  })
}).pipe(Effect.provide(DataDirLive))

const named = (text: Redacted.Redacted) =>
  Effect.fromNullable(parseKey(Redacted.value(text))).pipe(
    Effect.mapError(() => new SecretKeyUnusable({ message: "NETOPS_SECRET_KEY: expected 32 bytes in base64 or hex" }))
  )

/**
 * AES-256-GCM (NIST SP 800-38D) with a random nonce each time, under `NETOPS_SECRET_KEY`, or under a key of this
 * node's data directory (`secret.key`, 0600). Sealed: `v1.` and base64url of nonce, tag and text.
 */
export const SecretsAesGcm = Layer.effect(
  Secrets,
  Effect.gen(function*() {
    const given = yield* configured
    const shared = yield* Config.option(Config.string("DATABASE_URL"))
    if (Option.isNone(given) && Option.exists(shared, (url) => url.trim() !== "")) {
      yield* Effect.logWarning("NETOPS_SECRET_KEY is not set: other nodes can't read the secrets that this one stores")
    }
    const key = yield* Option.match(given, { onNone: () => inDataDir, onSome: named })

    return Secrets.of({
      seal: (secret, context) =>
        Effect.sync(() => {
          const nonce = randomBytes(12)
          const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context, "utf8"))
          const text = Buffer.concat([cipher.update(Redacted.value(secret), "utf8"), cipher.final()])
          return `${version}.${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url")}`
        }),
      open: (sealed, context) =>
        Effect.try({
          try: () => {
            if (!sealed.startsWith(`${version}.`)) throw new Error("unknown version")
            const bytes = Buffer.from(sealed.slice(version.length + 1), "base64url")
            const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12), { authTagLength: 16 })
              .setAAD(Buffer.from(context, "utf8")).setAuthTag(bytes.subarray(12, 28))
            return Redacted.make(
              Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8")
            )
          },
          catch: (cause) => new Error(`the secret of ${context} doesn't open with the key of this node`, { cause })
        }).pipe(Effect.orDie)
    })
  })
)
