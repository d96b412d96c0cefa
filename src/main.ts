import { Layer } from "effect"
import { ActionLimitsLive } from "./layers/ActionLimitsLive.ts"
import { BulkWorker } from "./layers/BulkWorker.ts"
import { DetectionsClickHouse } from "./layers/clickhouse/DetectionsClickHouse.ts"
import { DhcpEventsClickHouse } from "./layers/clickhouse/DhcpEventsClickHouse.ts"
import { FirewallEventsClickHouse } from "./layers/clickhouse/FirewallEventsClickHouse.ts"
import { MetricsClickHouse } from "./layers/clickhouse/MetricsClickHouse.ts"
import { ObservedClientsClickHouse } from "./layers/clickhouse/ObservedClientsClickHouse.ts"
import { RetentionClickHouse } from "./layers/clickhouse/RetentionClickHouse.ts"
import { TrafficSamplesClickHouse } from "./layers/clickhouse/TrafficSamplesClickHouse.ts"
import { ClusterLive, ClusterNodeLive } from "./layers/cluster/Cluster.ts"
import { DataDirLive } from "./layers/DataDir.ts"
import { EnforcementLoop } from "./layers/EnforcementLoop.ts"
import { EnginesLive } from "./layers/Engines.ts"
import { FirstAdminLive } from "./layers/FirstAdmin.ts"
import { DrainingLive, ListenerLive } from "./layers/http/Listener.ts"
import { ApiLive, HttpLive } from "./layers/http/Server.ts"
import { IdsCrypto } from "./layers/IdsCrypto.ts"
import { EnforcerNft } from "./layers/nft/EnforcerNft.ts"
import { NftCommand } from "./layers/nft/NftCommand.ts"
import { PasswordsArgon2 } from "./layers/PasswordsArgon2.ts"
import { ActionsPg } from "./layers/postgres/ActionsPg.ts"
import { AutomationRulesPg } from "./layers/postgres/AutomationRulesPg.ts"
import { BatchNumbersPg } from "./layers/postgres/BatchNumbersPg.ts"
import { BulkJobsPg } from "./layers/postgres/BulkJobsPg.ts"
import { DesiredMacsPg } from "./layers/postgres/DesiredMacsPg.ts"
import { ProtectedMacsPg } from "./layers/postgres/ProtectedMacsPg.ts"
import { RuleLedgerPg } from "./layers/postgres/RuleLedgerPg.ts"
import { RuleTargetsPg } from "./layers/postgres/RuleTargetsPg.ts"
import { SessionsPg } from "./layers/postgres/SessionsPg.ts"
import { UsersPg } from "./layers/postgres/UsersPg.ts"
import { ReadinessLive } from "./layers/ReadinessLive.ts"
import { HttpMetricsProm } from "./layers/telemetry/HttpMetrics.ts"
import { LoggingLive } from "./layers/telemetry/Logging.ts"
import { TracingLive } from "./layers/telemetry/Tracing.ts"
import { BulkActionsLive } from "./services/BulkActions.ts"
import { FirewallIngestLive } from "./services/FirewallEvents.ts"
import { IngestLive } from "./services/Ingest.ts"
import { MetricsAnswersLive } from "./services/MetricsAnswers.ts"
import { RuleRunnerLive } from "./services/RuleRunner.ts"
import { SignInLive } from "./services/SignIn.ts"
import { TrafficSamplerLive } from "./services/TrafficSampler.ts"

const StoresLive = Layer.mergeAll(
  UsersPg,
  SessionsPg,
  AutomationRulesPg,
  RuleLedgerPg,
  ActionsPg,
  ProtectedMacsPg,
  DesiredMacsPg,
  BulkJobsPg,
  RuleTargetsPg,
  ObservedClientsClickHouse,
  BatchNumbersPg,
  DhcpEventsClickHouse,
  DetectionsClickHouse,
  FirewallEventsClickHouse,
  MetricsClickHouse,
  RetentionClickHouse,
  TrafficSamplesClickHouse,
  ReadinessLive
)

const RulesLive = Layer.mergeAll(
  SignInLive,
  RuleRunnerLive,
  BulkActionsLive,
  IngestLive,
  FirewallIngestLive,
  MetricsAnswersLive,
  TrafficSamplerLive,
  FirstAdminLive
)
/** Work that goes on without a request, on one of the nodes. */
const BackgroundLive = Layer.merge(EnforcementLoop, BulkWorker)

const ToolsLive = Layer.mergeAll(IdsCrypto, PasswordsArgon2, HttpMetricsProm, DrainingLive)

/**
 * The whole server. What is provided first is built last and closed first: streams end, then the listener drains what
 * is in flight, and only then the stores below it close.
 */
export const ServerLive = HttpLive.pipe(
  Layer.provide(ListenerLive),
  Layer.provide(ApiLive),
  Layer.merge(BackgroundLive),
  Layer.provide(Layer.provide(ClusterLive, ClusterNodeLive)),
  Layer.provide(EnforcerNft),
  Layer.provide(RulesLive),
  Layer.provide(StoresLive),
  Layer.provide(EnginesLive),
  Layer.provide(Layer.provide(NftCommand, DataDirLive)),
  Layer.provide(ActionLimitsLive),
  Layer.provide(ToolsLive),
  Layer.provide([TracingLive, LoggingLive])
)
