import { ConfigProvider, Layer } from "effect"
import { DataDir } from "../../src/layers/DataDir.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { GuardProcess } from "../../src/layers/nft/GuardProcess.ts"
import { NftCommand } from "../../src/layers/nft/NftCommand.ts"
import { FirewallLive } from "../../src/services/FirewallLive.ts"
import { AuditTrailMemory } from "../layers/AuditTrailMemory.ts"
import { FirewallConfigsMemory } from "../layers/FirewallConfigsMemory.ts"

/** Firewall configurations in memory that are applied for real: in the sandbox of a data directory. */
export const firewallIn = (path: string) =>
  FirewallLive.pipe(
    Layer.provideMerge(Layer.mergeAll(FirewallConfigsMemory, NftCommand, GuardProcess, IdsCrypto, AuditTrailMemory)),
    Layer.provide(Layer.succeed(DataDir, { path })),
    Layer.provide(Layer.setConfigProvider(
      ConfigProvider.fromMap(new Map([["PATH", process.env["PATH"] ?? ""]]))
    )),
    Layer.orDie
  )
