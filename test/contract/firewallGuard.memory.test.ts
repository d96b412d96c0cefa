import { Layer } from "effect"
import { FirewallGuardMemory } from "../layers/FirewallGuardMemory.ts"
import { NftMemory } from "../layers/NftMemory.ts"
import { firewallGuardContract } from "./FirewallGuard.ts"

firewallGuardContract("memory", Layer.provideMerge(FirewallGuardMemory, NftMemory))
