import { Layer } from "effect"
import { FirewallConfigsPg } from "../../src/layers/postgres/FirewallConfigsPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { firewallConfigsContract } from "../contract/FirewallConfigs.ts"
import { PostgresTest } from "../support/engines.ts"

firewallConfigsContract("postgres", Layer.merge(FirewallConfigsPg, UsersPg).pipe(Layer.provide(PostgresTest)))
