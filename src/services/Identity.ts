import { Layer } from "effect"
import { AccountsLive } from "./Accounts.ts"
import { AuthenticatorLive } from "./Authenticator.ts"
import { LoginGuardLive } from "./LoginGuard.ts"
import { MfaLive } from "./Mfa.ts"
import { RequestRateLive } from "./RequestRate.ts"
import { SignInLive } from "./SignIn.ts"
import { SignInSweeperLive } from "./SignInSweeper.ts"

/** Everything that tells who somebody is, over the stores of it. */
export const IdentityLive = Layer.mergeAll(
  SignInLive,
  AuthenticatorLive,
  AccountsLive,
  RequestRateLive,
  SignInSweeperLive
).pipe(Layer.provideMerge(MfaLive), Layer.provideMerge(LoginGuardLive))
