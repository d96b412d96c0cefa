import { Layer } from "effect"
import { FirewallConfigsMemory } from "../layers/FirewallConfigsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { firewallConfigsContract } from "./FirewallConfigs.ts"

firewallConfigsContract("memory", Layer.merge(FirewallConfigsMemory, UsersMemory))
