import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../schema/User.ts"

/** The authenticator of a user: offered until it is confirmed by a code, asked for at every login from then on. */
export interface MfaFactor {
  /** The TOTP secret as `Secrets` sealed it. */
  readonly sealedSecret: string
  readonly confirmed: boolean
}

/** Second factors of users: one authenticator each, with its recovery codes. */
export class MfaFactors extends Context.Tag("services/MfaFactors")<
  MfaFactors,
  {
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<MfaFactor>>
    /** Offers an authenticator in place of one offered before; false where one is confirmed already. */
    readonly offer: (userId: UserId, sealedSecret: string, at: DateTime.Utc) => Effect.Effect<boolean>
    /** Confirms the one that was offered with this secret, by the code of this step; of several at once one succeeds. */
    readonly confirm: (
      userId: UserId,
      proof: { readonly sealedSecret: string; readonly step: number; readonly recoveryHashes: ReadonlyArray<string> },
      at: DateTime.Utc
    ) => Effect.Effect<boolean>
    /** Takes a time step if neither it nor a later one was taken before; of several at once one succeeds. */
    readonly acceptStep: (userId: UserId, step: number) => Effect.Effect<boolean>
    /** Uses up a recovery code of a confirmed factor; of several at once one succeeds. */
    readonly useRecoveryCode: (userId: UserId, hash: string, at: DateTime.Utc) => Effect.Effect<boolean>
    /** Removes the authenticator and its codes; false where there was none. */
    readonly remove: (userId: UserId) => Effect.Effect<boolean>
  }
>() {}
