import { Effect, Layer } from "effect"
import { DetectionsClickHouse } from "../../src/layers/clickhouse/DetectionsClickHouse.ts"
import { ClusterLive, ClusterNodeLive } from "../../src/layers/cluster/Cluster.ts"
import { SchedulerSingleton } from "../../src/layers/cluster/SchedulerSingleton.ts"
import { StoresLive } from "../../src/layers/Engines.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { AlarmsPg } from "../../src/layers/postgres/AlarmsPg.ts"
import { AuditTrailPg } from "../../src/layers/postgres/AuditTrailPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { DueWindowsPg } from "../../src/layers/postgres/DueWindowsPg.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { UnitOfWorkPg } from "../../src/layers/postgres/UnitOfWorkPg.ts"
import { RuleRunnerLive } from "../../src/services/RuleRunner.ts"

// The scheduler of a node, run as a process of its own to be killed.
const node = SchedulerSingleton.pipe(
  Layer.provide(RuleRunnerLive),
  Layer.provide([
    AutomationRulesPg,
    RuleLedgerPg,
    DueWindowsPg,
    AlarmsPg,
    DetectionsClickHouse,
    AuditTrailPg,
    UnitOfWorkPg,
    IdsCrypto
  ]),
  Layer.provide(ClusterLive),
  Layer.provide([StoresLive, ClusterNodeLive])
)

Effect.runFork(Layer.launch(node))
