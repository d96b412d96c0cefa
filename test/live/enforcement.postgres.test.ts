import { Layer } from "effect"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { DesiredMacsPg } from "../../src/layers/postgres/DesiredMacsPg.ts"
import { ProtectedMacsPg } from "../../src/layers/postgres/ProtectedMacsPg.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { RuleTargetsPg } from "../../src/layers/postgres/RuleTargetsPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { enforcementContract } from "../contract/Enforcement.ts"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { DesiredMacsMemory } from "../layers/DesiredMacsMemory.ts"
import { ProtectedMacsMemory } from "../layers/ProtectedMacsMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { RuleTargetsMemory } from "../layers/RuleTargetsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { PostgresTest } from "../support/engines.ts"

const stores = () =>
  Layer.mergeAll(ActionsPg, ProtectedMacsPg, DesiredMacsPg, RuleTargetsPg, RuleLedgerPg, AutomationRulesPg, UsersPg)
    .pipe(
      Layer.provide(PostgresTest)
    )
const twin = Layer.mergeAll(
  ActionsMemory,
  ProtectedMacsMemory,
  DesiredMacsMemory,
  RuleTargetsMemory,
  RuleLedgerMemory,
  AutomationRulesMemory,
  UsersMemory
)

enforcementContract("postgres", stores, twin, 25)
