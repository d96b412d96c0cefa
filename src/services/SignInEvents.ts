import { Context, type Effect } from "effect"

/** What happened to an account; secrets and texts that a stranger typed are never part of it. */
export interface SignInEvent {
  readonly type:
    | "login.succeeded"
    | "login.failed"
    | "login.refused"
    | "login.mfa_required"
    | "login.locked"
    | "login.rate_limited"
    | "mfa.failed"
    | "mfa.enrolled"
    | "mfa.disabled"
    | "logout"
    | "session.refreshed"
    | "session.ended"
    | "password.changed"
    | "token.created"
    | "token.deleted"
    | "user.created"
    | "user.updated"
  /** Whose account; undefined where no account is known. */
  readonly userId: number | undefined
  readonly username: string | undefined
  /** Canonical address of the client. */
  readonly address: string
  readonly detail?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** Where events of sign-in go. Where one can't be kept the sign-in fails as a whole. */
export class SignInEvents extends Context.Tag("services/SignInEvents")<
  SignInEvents,
  { readonly publish: (event: SignInEvent) => Effect.Effect<void> }
>() {}
