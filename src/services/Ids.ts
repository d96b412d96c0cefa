import { Context, type Effect, type Redacted } from "effect"

/** Source of ids and secrets, so that tests can tell which come next. */
export class Ids extends Context.Tag("services/Ids")<
  Ids,
  {
    /** A version 4 UUID. */
    readonly uuid: Effect.Effect<string>
    /** 256 random bits in base64url. */
    readonly secret: Effect.Effect<Redacted.Redacted>
  }
>() {}
