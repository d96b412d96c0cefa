import { Context, type Effect, type Redacted } from "effect"

/**
 * Encryption of what must be stored and read again. `context` names what a secret is for and of whom (`mfa:7`), and
 * opens nothing that was sealed for another; what doesn't open (another key, a changed text) is a defect.
 */
export class Secrets extends Context.Tag("services/Secrets")<
  Secrets,
  {
    readonly seal: (secret: Redacted.Redacted, context: string) => Effect.Effect<string>
    readonly open: (sealed: string, context: string) => Effect.Effect<Redacted.Redacted>
  }
>() {}
