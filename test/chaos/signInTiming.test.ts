import { Layer } from "effect"
import { signInTiming, TimingPorts } from "../contract/SignInTiming.ts"
import { PostgresPorts } from "../support/postgresPorts.ts"
import { testApi } from "../support/testApi.ts"

const tries = Number(process.env["NETOPS_TIMING_TRIES"] ?? 2000)

signInTiming("memory", testApi(TimingPorts), tries)
signInTiming("postgres", testApi(Layer.merge(PostgresPorts, TimingPorts) as never), tries)
