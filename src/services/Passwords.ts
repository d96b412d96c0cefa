import { Context, type Effect, type Redacted } from "effect"

/** One-way hashing of passwords (argon2id, RFC 9106). */
export class Passwords extends Context.Tag("services/Passwords")<
  Passwords,
  {
    readonly hash: (password: Redacted.Redacted) => Effect.Effect<Redacted.Redacted>
    readonly verify: (password: Redacted.Redacted, hash: Redacted.Redacted) => Effect.Effect<boolean>
  }
>() {}
