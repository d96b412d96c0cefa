import { hash, verify } from "@node-rs/argon2"
import { Effect, Layer, Redacted } from "effect"
import { Passwords } from "../services/Passwords.ts"

/** OWASP's least cost of argon2id (the library's default algorithm): 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Hashes on the thread pool of the process, not on its event loop; a hash carries its own cost. */
export const PasswordsArgon2 = Layer.succeed(
  Passwords,
  Passwords.of({
    hash: (password) => Effect.map(Effect.promise(() => hash(Redacted.value(password), cost)), Redacted.make),
    verify: (password, hashed) => Effect.promise(() => verify(Redacted.value(hashed), Redacted.value(password)))
  })
)
