import { Layer } from "effect"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { AlarmsPg } from "../../src/layers/postgres/AlarmsPg.ts"
import { ApiTokensPg } from "../../src/layers/postgres/ApiTokensPg.ts"
import { AuditTrailPg } from "../../src/layers/postgres/AuditTrailPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { DueWindowsPg } from "../../src/layers/postgres/DueWindowsPg.ts"
import { FeedbackBoxPg } from "../../src/layers/postgres/FeedbackBoxPg.ts"
import { FirewallConfigsPg } from "../../src/layers/postgres/FirewallConfigsPg.ts"
import { IdempotencyKeysPg } from "../../src/layers/postgres/IdempotencyKeysPg.ts"
import { IpRestrictionsPg } from "../../src/layers/postgres/IpRestrictionsPg.ts"
import { MfaChallengesPg } from "../../src/layers/postgres/MfaChallengesPg.ts"
import { MfaFactorsPg } from "../../src/layers/postgres/MfaFactorsPg.ts"
import { PreferencesPg } from "../../src/layers/postgres/PreferencesPg.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { SessionsPg } from "../../src/layers/postgres/SessionsPg.ts"
import { SignInAttemptsPg } from "../../src/layers/postgres/SignInAttemptsPg.ts"
import { UnitOfWorkPg } from "../../src/layers/postgres/UnitOfWorkPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { PostgresTest } from "./engines.ts"

/** The ports that are kept in Postgres, on a database of their own. */
export const PostgresPorts = Layer.mergeAll(
  UsersPg,
  SessionsPg,
  ApiTokensPg,
  MfaFactorsPg,
  MfaChallengesPg,
  SignInAttemptsPg,
  FirewallConfigsPg,
  AutomationRulesPg,
  RuleLedgerPg,
  DueWindowsPg,
  AlarmsPg,
  ActionsPg,
  AuditTrailPg,
  FeedbackBoxPg,
  IdempotencyKeysPg,
  IpRestrictionsPg,
  PreferencesPg,
  UnitOfWorkPg
).pipe(Layer.provideMerge(PostgresTest))
