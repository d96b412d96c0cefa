import { Layer } from "effect"
import { ApiTokensPg } from "../../src/layers/postgres/ApiTokensPg.ts"
import { MfaChallengesPg } from "../../src/layers/postgres/MfaChallengesPg.ts"
import { MfaFactorsPg } from "../../src/layers/postgres/MfaFactorsPg.ts"
import { RequestCountsPg } from "../../src/layers/postgres/RequestCountsPg.ts"
import { SessionsPg } from "../../src/layers/postgres/SessionsPg.ts"
import { SignInAttemptsPg } from "../../src/layers/postgres/SignInAttemptsPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { apiTokensContract } from "../contract/ApiTokens.ts"
import { mfaContract } from "../contract/Mfa.ts"
import { signInAttemptsContract } from "../contract/SignInAttempts.ts"
import { signInMachine } from "../contract/SignInMachine.ts"
import { PostgresTest } from "../support/engines.ts"

const onPostgres = <A>(layer: Layer.Layer<A, never, Layer.Layer.Success<typeof PostgresTest>>) =>
  Layer.provide(layer, PostgresTest)

signInAttemptsContract("postgres", onPostgres(SignInAttemptsPg), 20)
mfaContract("postgres", onPostgres(Layer.mergeAll(MfaFactorsPg, MfaChallengesPg, UsersPg)), 15)
apiTokensContract("postgres", onPostgres(Layer.mergeAll(ApiTokensPg, RequestCountsPg, UsersPg)), 15)
signInMachine(
  "postgres",
  onPostgres(Layer.mergeAll(UsersPg, SessionsPg, ApiTokensPg, MfaFactorsPg, MfaChallengesPg, SignInAttemptsPg)),
  Number(process.env["NETOPS_SIGN_IN_RUNS"] ?? 6)
)
