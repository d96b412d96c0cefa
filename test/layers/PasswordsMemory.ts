import { Effect, Layer, Redacted } from "effect"
import { createHash } from "node:crypto"
import { Passwords } from "../../src/services/Passwords.ts"

const hash = (password: Redacted.Redacted) =>
  Redacted.make(`plain$${createHash("sha256").update(Redacted.value(password)).digest("hex")}`)

/** Fast and without salt, so that equal passwords have equal hashes. */
export const PasswordsMemory = Layer.succeed(
  Passwords,
  Passwords.of({
    hash: (password) => Effect.sync(() => hash(password)),
    verify: (password, hashed) => Effect.sync(() => Redacted.value(hash(password)) === Redacted.value(hashed))
  })
)
