import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { DataDir } from "../../src/layers/DataDir.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { FirewallUpkeep } from "../../src/layers/nft/FirewallUpkeep.ts"
import { GuardProcess } from "../../src/layers/nft/GuardProcess.ts"
import { NftCommand } from "../../src/layers/nft/NftCommand.ts"
import { AuditTrailPg } from "../../src/layers/postgres/AuditTrailPg.ts"
import { FirewallConfigsPg } from "../../src/layers/postgres/FirewallConfigsPg.ts"
import { postgresClient } from "../../src/layers/postgres/Postgres.ts"
import { ServiceEventsPg } from "../../src/layers/postgres/ServiceEventsPg.ts"
import { FirewallConfigId } from "../../src/schema/FirewallConfig.ts"
import { UserId } from "../../src/schema/User.ts"
import { Firewall } from "../../src/services/Firewall.ts"
import { FirewallLive } from "../../src/services/FirewallLive.ts"
import { bigDraft } from "./bigRuleset.ts"

// The firewall part of a node, run as a process of its own to be killed. Between SIGUSR2 and SIGHUP it saves and applies
// one version of a configuration after the other. Arguments: data directory, URL of Postgres, configuration.
const [path = "", url = "", id = ""] = process.argv.slice(2)

const config = FirewallConfigId.make(id)
const request = { confirmSeconds: 0, comment: undefined, expectedVersion: undefined, adopt: false }

let isWorking = false
process.on("SIGUSR2", () => isWorking = true)
process.on("SIGHUP", () => isWorking = false)

const work = Effect.gen(function*() {
  const firewall = yield* Firewall
  yield* Effect.sync(() => process.stdout.write("READY\n"))
  for (let round = process.pid;; round++) {
    yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => isWorking })
    yield* firewall.update(config, bigDraft(round), UserId.make(1))
    // A kill of nft alone is an outage, which the next round is past.
    yield* Effect.ignore(firewall.apply(config, request))
  }
})

const node = Layer.provideMerge(FirewallUpkeep, FirewallLive).pipe(
  Layer.provide(FirewallConfigsPg),
  Layer.provide([ServiceEventsPg, AuditTrailPg, NftCommand, GuardProcess, IdsCrypto]),
  Layer.provide([postgresClient(Redacted.make(url), 5), Layer.succeed(DataDir, { path })]),
  Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["PATH", process.env["PATH"] ?? ""]]))))
)

Effect.runFork(Effect.orDie(Effect.provide(work, node)))
