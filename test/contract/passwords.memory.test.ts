import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { PasswordsArgon2 } from "../../src/layers/PasswordsArgon2.ts"
import { Passwords } from "../../src/services/Passwords.ts"
import { PasswordsMemory } from "../layers/PasswordsMemory.ts"
import { passwordsContract } from "./Passwords.ts"

passwordsContract("memory", PasswordsMemory, 100)
passwordsContract("argon2", PasswordsArgon2, 15)

describe("PasswordsArgon2", () => {
  it.effect("hashes by argon2id at OWASP's cost and salts each hash", () =>
    Effect.gen(function*() {
      const { hash } = yield* Passwords
      const password = Redacted.make("correct horse battery staple")
      const [one, other] = yield* Effect.all([hash(password), hash(password)])
      assert.match(Redacted.value(one), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      assert.notStrictEqual(Redacted.value(one), Redacted.value(other))
    }).pipe(Effect.provide(PasswordsArgon2)))
})
