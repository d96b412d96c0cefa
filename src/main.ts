import { Layer } from "effect"
import { ActionLimitsLive } from "./layers/ActionLimitsLive.ts"
import { AuditSealerLive } from "./layers/AuditSealer.ts"
import { DetectionsClickHouse } from "./layers/clickhouse/DetectionsClickHouse.ts"
import { DhcpEventsClickHouse } from "./layers/clickhouse/DhcpEventsClickHouse.ts"
import { FirewallEventsClickHouse } from "./layers/clickhouse/FirewallEventsClickHouse.ts"
import { MetricsClickHouse } from "./layers/clickhouse/MetricsClickHouse.ts"
import { ObservedClientsClickHouse } from "./layers/clickhouse/ObservedClientsClickHouse.ts"
import { RetentionClickHouse } from "./layers/clickhouse/RetentionClickHouse.ts"
import { TrafficSamplesClickHouse } from "./layers/clickhouse/TrafficSamplesClickHouse.ts"
import { AlarmRelaySingleton } from "./layers/cluster/AlarmRelay.ts"
import { BulkJobRunLive } from "./layers/cluster/BulkJobRun.ts"
import { BulkJobStarter } from "./layers/cluster/BulkJobStarter.ts"
import { ClusterLive, ClusterNodeLive } from "./layers/cluster/Cluster.ts"
import { DiskWatchSingleton } from "./layers/cluster/DiskWatchSingleton.ts"
import { NotificationSingletons } from "./layers/cluster/NotificationSingletons.ts"
import { SchedulerSingleton } from "./layers/cluster/SchedulerSingleton.ts"
import { TrafficSamplerSingleton } from "./layers/cluster/TrafficSamplerSingleton.ts"
import { DataDirLive } from "./layers/DataDir.ts"
import { EnforcementLoop } from "./layers/EnforcementLoop.ts"
import { EnginesLive } from "./layers/Engines.ts"
import { FirstAdminLive } from "./layers/FirstAdmin.ts"
import { ClientAddressLive } from "./layers/http/ClientAddress.ts"
import { DrainingLive, ListenerLive } from "./layers/http/Listener.ts"
import { ApiLive, HttpLive } from "./layers/http/Server.ts"
import { SignInEventsAudit } from "./layers/http/SignInEventsAudit.ts"
import { IdsCrypto } from "./layers/IdsCrypto.ts"
import { LedgerUpkeep } from "./layers/LedgerUpkeep.ts"
import { LiveLimitsConfig } from "./layers/LiveLimitsConfig.ts"
import { EnforcerNft } from "./layers/nft/EnforcerNft.ts"
import { FirewallUpkeep } from "./layers/nft/FirewallUpkeep.ts"
import { GuardProcess } from "./layers/nft/GuardProcess.ts"
import { NftCommand } from "./layers/nft/NftCommand.ts"
import { LogPipelineTransportNode } from "./layers/notify/LogPipelineTransportNode.ts"
import { PasswordsArgon2 } from "./layers/PasswordsArgon2.ts"
import { ActionsPg } from "./layers/postgres/ActionsPg.ts"
import { AlarmsPg } from "./layers/postgres/AlarmsPg.ts"
import { ApiTokensPg } from "./layers/postgres/ApiTokensPg.ts"
import { AuditTrailPg } from "./layers/postgres/AuditTrailPg.ts"
import { AutomationRulesPg } from "./layers/postgres/AutomationRulesPg.ts"
import { BatchLedgerPg } from "./layers/postgres/BatchLedgerPg.ts"
import { BatchNumbersPg } from "./layers/postgres/BatchNumbersPg.ts"
import { BulkJobsPg } from "./layers/postgres/BulkJobsPg.ts"
import { DesiredMacsPg } from "./layers/postgres/DesiredMacsPg.ts"
import { DhcpFiltersPg } from "./layers/postgres/DhcpFiltersPg.ts"
import { DueWindowsPg } from "./layers/postgres/DueWindowsPg.ts"
import { FeedbackBoxPg } from "./layers/postgres/FeedbackBoxPg.ts"
import { FirewallConfigsPg } from "./layers/postgres/FirewallConfigsPg.ts"
import { IdempotencyKeysPg } from "./layers/postgres/IdempotencyKeysPg.ts"
import { IpRestrictionsPg } from "./layers/postgres/IpRestrictionsPg.ts"
import { LogPipelineChannelPg } from "./layers/postgres/LogPipelineChannelPg.ts"
import { MfaChallengesPg } from "./layers/postgres/MfaChallengesPg.ts"
import { MfaFactorsPg } from "./layers/postgres/MfaFactorsPg.ts"
import { NotificationRulesPg, SilencesPg } from "./layers/postgres/NotificationRulesPg.ts"
import { OutboxPg } from "./layers/postgres/OutboxPg.ts"
import { PreferencesPg } from "./layers/postgres/PreferencesPg.ts"
import { ProtectedMacsPg } from "./layers/postgres/ProtectedMacsPg.ts"
import { RequestCountsPg } from "./layers/postgres/RequestCountsPg.ts"
import { RuleLedgerPg } from "./layers/postgres/RuleLedgerPg.ts"
import { RuleTargetsPg } from "./layers/postgres/RuleTargetsPg.ts"
import { ServiceEventsPg } from "./layers/postgres/ServiceEventsPg.ts"
import { SessionsPg } from "./layers/postgres/SessionsPg.ts"
import { SignInAttemptsPg } from "./layers/postgres/SignInAttemptsPg.ts"
import { UnitOfWorkPg } from "./layers/postgres/UnitOfWorkPg.ts"
import { UsersPg } from "./layers/postgres/UsersPg.ts"
import { ReadinessLive } from "./layers/ReadinessLive.ts"
import { SecretsAesGcm } from "./layers/SecretsAesGcm.ts"
import { SignInLimitsConfig } from "./layers/SignInLimitsConfig.ts"
import { HttpMetricsProm } from "./layers/telemetry/HttpMetrics.ts"
import { LoggingLive } from "./layers/telemetry/Logging.ts"
import { TracingLive } from "./layers/telemetry/Tracing.ts"
import { BulkActionsLive } from "./services/BulkActions.ts"
import { FirewallIngestLive } from "./services/FirewallEvents.ts"
import { FirewallLive } from "./services/FirewallLive.ts"
import { IdentityLive } from "./services/Identity.ts"
import { IngestLive } from "./services/Ingest.ts"
import { IpGuardLive } from "./services/IpGuard.ts"
import { LiveEventsLive } from "./services/LiveEvents.ts"
import { LiveWakeLive } from "./services/LiveWake.ts"
import { LogPipelineLive } from "./services/LogPipeline.ts"
import { MetricsAnswersLive } from "./services/MetricsAnswers.ts"
import { DispatcherLive } from "./services/notify/Dispatcher.ts"
import { SenderLive } from "./services/notify/Sender.ts"
import { RuleRunnerLive } from "./services/RuleRunner.ts"

const StoresLive = Layer.mergeAll(
  UsersPg,
  SessionsPg,
  ApiTokensPg,
  MfaFactorsPg,
  MfaChallengesPg,
  SignInAttemptsPg,
  RequestCountsPg,
  AutomationRulesPg,
  RuleLedgerPg,
  DueWindowsPg,
  AlarmsPg,
  ActionsPg,
  FirewallConfigsPg,
  AuditTrailPg,
  FeedbackBoxPg,
  IdempotencyKeysPg,
  IpRestrictionsPg,
  PreferencesPg,
  UnitOfWorkPg,
  ProtectedMacsPg,
  DesiredMacsPg,
  BulkJobsPg,
  RuleTargetsPg,
  ObservedClientsClickHouse,
  BatchNumbersPg,
  BatchLedgerPg,
  DhcpFiltersPg,
  ServiceEventsPg,
  NotificationRulesPg,
  SilencesPg,
  OutboxPg,
  LogPipelineChannelPg,
  DhcpEventsClickHouse,
  DetectionsClickHouse,
  FirewallEventsClickHouse,
  MetricsClickHouse,
  RetentionClickHouse,
  TrafficSamplesClickHouse,
  ReadinessLive
)

const RulesLive = Layer.mergeAll(
  Layer.provideMerge(FirewallUpkeep, FirewallLive),
  Layer.provideMerge(LiveEventsLive, IdentityLive),
  LedgerUpkeep,
  RuleRunnerLive,
  BulkActionsLive,
  IngestLive,
  FirewallIngestLive,
  MetricsAnswersLive,
  Layer.provideMerge(Layer.merge(DispatcherLive, SenderLive), LogPipelineLive),
  FirstAdminLive,
  AuditSealerLive
).pipe(Layer.provideMerge(IpGuardLive), Layer.provide(SignInEventsAudit))

const ToolsLive = Layer.mergeAll(
  IdsCrypto,
  PasswordsArgon2,
  HttpMetricsProm,
  DrainingLive,
  SecretsAesGcm,
  LogPipelineTransportNode,
  ClientAddressLive,
  LiveWakeLive
)

/** What runs by itself, on one of all nodes each. */
const SingletonsLive = Layer.mergeAll(
  SchedulerSingleton,
  AlarmRelaySingleton,
  EnforcementLoop,
  BulkJobStarter,
  NotificationSingletons,
  TrafficSamplerSingleton,
  DiskWatchSingleton
)

/**
 * The whole server. What is provided first is built last and closed first: streams end, then the listener drains what
 * is in flight, and only then the stores below it close.
 */
export const ServerLive = HttpLive.pipe(
  Layer.provide(ListenerLive),
  Layer.provide(ApiLive),
  Layer.merge(SingletonsLive),
  Layer.merge(BulkJobRunLive),
  Layer.provide(EnforcerNft),
  Layer.provide(RulesLive),
  Layer.provide(StoresLive),
  Layer.provide(ClusterLive),
  Layer.provide(EnginesLive),
  Layer.provide(ClusterNodeLive),
  Layer.provide(Layer.provide(Layer.merge(NftCommand, GuardProcess), DataDirLive)),
  Layer.provide(ActionLimitsLive),
  Layer.provide(ToolsLive),
  Layer.provide(Layer.merge(SignInLimitsConfig, LiveLimitsConfig)),
  Layer.provide([TracingLive, LoggingLive])
)
