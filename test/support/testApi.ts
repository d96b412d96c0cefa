import type { HttpClient } from "@effect/platform"
import { Context, DateTime, Effect, Layer, Redacted, TestClock } from "effect"
import { type Client, makeClient, tokenByPassword } from "../../src/api/client.ts"
import { DrainingLive } from "../../src/layers/http/Listener.ts"
import { ApiLive, DocumentsLive } from "../../src/layers/http/Server.ts"
import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { HttpMetricsProm } from "../../src/layers/telemetry/HttpMetrics.ts"
import { type Role, roles } from "../../src/schema/Permission.ts"
import { Username } from "../../src/schema/User.ts"
import { BulkActionsLive } from "../../src/services/BulkActions.ts"
import { FirewallIngestLive } from "../../src/services/FirewallEvents.ts"
import { FirewallLive } from "../../src/services/FirewallLive.ts"
import { IdentityLive } from "../../src/services/Identity.ts"
import { IngestLive } from "../../src/services/Ingest.ts"
import { IpGuardLive } from "../../src/services/IpGuard.ts"
import { LogPipelineLive } from "../../src/services/LogPipeline.ts"
import { MetricsAnswersLive } from "../../src/services/MetricsAnswers.ts"
import { Passwords } from "../../src/services/Passwords.ts"
import { RuleRunnerLive } from "../../src/services/RuleRunner.ts"
import { Users } from "../../src/services/Users.ts"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { AlarmsMemory } from "../layers/AlarmsMemory.ts"
import { AuditTrailMemory } from "../layers/AuditTrailMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { AutomationStateMemory } from "../layers/AutomationState.ts"
import { BatchNumbersMemory } from "../layers/BatchNumbersMemory.ts"
import { BulkJobsMemory } from "../layers/BulkJobsMemory.ts"
import { ClientAddressHeader } from "../layers/ClientAddressHeader.ts"
import { DetectionsMemory } from "../layers/DetectionsMemory.ts"
import { DhcpEventsMemory, EventMemory } from "../layers/DhcpEventsMemory.ts"
import { DueWindowsMemory } from "../layers/DueWindowsMemory.ts"
import { EnforcerMemory } from "../layers/EnforcerMemory.ts"
import { FeedbackBoxMemory } from "../layers/FeedbackBoxMemory.ts"
import { FirewallConfigsMemory } from "../layers/FirewallConfigsMemory.ts"
import { FirewallGuardMemory } from "../layers/FirewallGuardMemory.ts"
import { IdempotencyKeysMemory } from "../layers/IdempotencyKeysMemory.ts"
import {
  ApiTokensMemory,
  MfaChallengesMemory,
  MfaFactorsMemory,
  RequestCountsMemory,
  SecretsMemory,
  SignInAttemptsMemory
} from "../layers/IdentityMemory.ts"
import { IpRestrictionsMemory } from "../layers/IpRestrictionsMemory.ts"
import { FirewallEventsMemory, MetricsMemory, ObservedMemory } from "../layers/MetricsMemory.ts"
import { NftMemory } from "../layers/NftMemory.ts"
import {
  LogPipelineChannelMemory,
  LogPipelineTransportMemory,
  NotificationRulesMemory,
  SilencesMemory
} from "../layers/NotificationsMemory.ts"
import { ObservedClientsMemory } from "../layers/ObservedClientsMemory.ts"
import { OutboxMemory } from "../layers/OutboxMemory.ts"
import { PasswordsMemory } from "../layers/PasswordsMemory.ts"
import { PreferencesMemory } from "../layers/PreferencesMemory.ts"
import { ProtectedMacsMemory } from "../layers/ProtectedMacsMemory.ts"
import { ReadinessMemory } from "../layers/ReadinessMemory.ts"
import { RetentionMemory } from "../layers/RetentionMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { RuleTargetsMemory } from "../layers/RuleTargetsMemory.ts"
import { ServiceEventsMemory } from "../layers/ServiceEventsMemory.ts"
import { SessionsMemory } from "../layers/SessionsMemory.ts"
import { SignInEventsMemory } from "../layers/SignInEventsMemory.ts"
import { UnitOfWorkMemory } from "../layers/UnitOfWorkMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { inProcess } from "./inProcess.ts"

/** The ports of the service over memory, and the state behind them. */
export const MemoryPorts = Layer.mergeAll(
  UsersMemory,
  SessionsMemory,
  PasswordsMemory,
  IdsCrypto,
  AutomationRulesMemory,
  RuleLedgerMemory,
  DueWindowsMemory,
  AlarmsMemory,
  ActionsMemory,
  ProtectedMacsMemory,
  BulkJobsMemory,
  RuleTargetsMemory,
  ObservedClientsMemory,
  EnforcerMemory,
  AutomationStateMemory,
  BatchNumbersMemory,
  DhcpEventsMemory,
  DetectionsMemory,
  FirewallEventsMemory,
  MetricsMemory,
  RetentionMemory,
  ReadinessMemory,
  FirewallConfigsMemory,
  Layer.provideMerge(FirewallGuardMemory, NftMemory),
  AuditTrailMemory,
  IdempotencyKeysMemory,
  IpRestrictionsMemory,
  PreferencesMemory,
  FeedbackBoxMemory,
  UnitOfWorkMemory,
  ClientAddressHeader,
  HttpMetricsProm,
  ApiTokensMemory,
  MfaFactorsMemory,
  MfaChallengesMemory,
  SignInAttemptsMemory,
  RequestCountsMemory,
  SecretsMemory,
  SignInEventsMemory,
  ServiceEventsMemory,
  NotificationRulesMemory,
  SilencesMemory,
  OutboxMemory,
  LogPipelineChannelMemory,
  LogPipelineTransportMemory,
  DrainingLive
).pipe(Layer.provideMerge(Layer.merge(EventMemory.layer, ObservedMemory.layer)))

export type Ports = Layer.Layer.Success<typeof MemoryPorts>

const RulesLive = Layer.mergeAll(
  Layer.orDie(FirewallLive),
  Layer.orDie(LogPipelineLive),
  IdentityLive,
  RuleRunnerLive,
  BulkActionsLive,
  IngestLive,
  FirewallIngestLive,
  MetricsAnswersLive
).pipe(Layer.provideMerge(IpGuardLive))

/** The real handlers, rules and documents; what is left to provide is the ports. */
export const ServedApi = Layer.provideMerge(DocumentsLive, ApiLive).pipe(Layer.provide(RulesLive))

export const passwordOf = (role: Role): string => `the password of ${role}`

/** Signed-in users, one of each role, named as it. */
export class Callers extends Context.Tag("test/Callers")<
  Callers,
  {
    readonly anonymous: Client
    readonly token: Readonly<Record<Role, Redacted.Redacted>>
    readonly client: Readonly<Record<Role, Client>>
  }
>() {}

const baseUrl = "http://test"

const signedIn = <A>(each: (role: Role) => Effect.Effect<A, unknown, HttpClient.HttpClient>) =>
  Effect.map(
    Effect.forEach(roles, (role) => Effect.map(each(role), (value) => [role, value] as const)),
    (entries) => Object.fromEntries(entries) as Record<Role, A>
  )

/** Creates a user whose password is `passwordOf` its role. */
export const createUser = Effect.fnUntraced(function*(username: string, role: Role) {
  const users = yield* Users
  const passwords = yield* Passwords
  const passwordHash = yield* passwords.hash(Redacted.make(passwordOf(role)))
  return yield* Effect.orDie(users.create({ username: Username.make(username), role, passwordHash }))
})

export const CallersLive = Layer.effect(
  Callers,
  Effect.gen(function*() {
    yield* Effect.forEach(roles, (role) => createUser(role, role))
    const anonymous = yield* makeClient({ baseUrl })
    const token = yield* signedIn((role) => tokenByPassword(anonymous, { username: role, password: passwordOf(role) }))
    const client = yield* signedIn((role) => makeClient({ baseUrl, token: token[role] }))
    return Callers.of({ anonymous, token, client })
  }).pipe(Effect.orDie)
)

/** When every test begins: near the times of the arbitrary events. */
export const beginning = DateTime.unsafeMake("2096-02-02T00:00:00Z")

/** The API in process with some of its ports swapped for others. */
export const testApi = (swapped: Layer.Layer<never, never, Ports> = Layer.empty) =>
  CallersLive.pipe(
    Layer.provideMerge(inProcess(ServedApi)),
    Layer.provideMerge(
      Layer.merge(MemoryPorts, Layer.provide(swapped, MemoryPorts)) as Layer.Layer<Ports, never, never>
    ),
    Layer.provide(Layer.effectDiscard(TestClock.setTime(beginning)))
  )

/** The API in process over memory, on the test's clock. */
export const TestApi = testApi()
