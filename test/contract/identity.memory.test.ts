import { Layer } from "effect"
import {
  ApiTokensMemory,
  MfaChallengesMemory,
  MfaFactorsMemory,
  RequestCountsMemory,
  SecretsMemory,
  SignInAttemptsMemory
} from "../layers/IdentityMemory.ts"
import { SessionsMemory } from "../layers/SessionsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { apiTokensContract } from "./ApiTokens.ts"
import { mfaContract } from "./Mfa.ts"
import { secretsContract } from "./Secrets.ts"
import { signInAttemptsContract } from "./SignInAttempts.ts"
import { signInMachine } from "./SignInMachine.ts"

signInAttemptsContract("memory", SignInAttemptsMemory, 200)
mfaContract("memory", Layer.mergeAll(MfaFactorsMemory, MfaChallengesMemory, UsersMemory), 100)
apiTokensContract("memory", Layer.mergeAll(ApiTokensMemory, RequestCountsMemory, UsersMemory), 100)
secretsContract("memory", SecretsMemory, 100)
signInMachine(
  "memory",
  Layer.mergeAll(
    UsersMemory,
    SessionsMemory,
    ApiTokensMemory,
    MfaFactorsMemory,
    MfaChallengesMemory,
    SignInAttemptsMemory
  ),
  Number(process.env["NETOPS_SIGN_IN_RUNS"] ?? 60)
)
