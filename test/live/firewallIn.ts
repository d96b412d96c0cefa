import { ConfigProvider, Layer } from "effect"
import { DataDir } from "../../src/layers/DataDir.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { GuardProcess } from "../../src/layers/nft/GuardProcess.ts"
import { NftCommand } from "../../src/layers/nft/NftCommand.ts"
import { FirewallLive } from "../../src/services/FirewallLive.ts"
import { AuditTrailMemory } from "../layers/AuditTrailMemory.ts"
import { FirewallConfigsMemory } from "../layers/FirewallConfigsMemory.ts"

/** Firewall configurations in memory that are applied for real: in the sandbox of a data directory unless
 * the settings say elsewhere. */
export const firewallIn = (path: string, settings: Readonly<Record<string, string>> = {}) =>
  FirewallLive.pipe(
    Layer.provideMerge(Layer.mergeAll(FirewallConfigsMemory, NftCommand, GuardProcess, IdsCrypto, AuditTrailMemory)),
    Layer.provide(Layer.succeed(DataDir, { path })),
    Layer.provide(Layer.setConfigProvider(
      ConfigProvider.fromMap(new Map(Object.entries({ PATH: process.env["PATH"] ?? "", ...settings })))
    )),
    Layer.orDie
  )
