import { Layer } from "effect"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { DesiredMacsMemory } from "../layers/DesiredMacsMemory.ts"
import { ProtectedMacsMemory } from "../layers/ProtectedMacsMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { RuleTargetsMemory } from "../layers/RuleTargetsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { enforcementContract } from "./Enforcement.ts"

const EnforcementMemory = Layer.mergeAll(
  ActionsMemory,
  ProtectedMacsMemory,
  DesiredMacsMemory,
  RuleTargetsMemory,
  RuleLedgerMemory,
  AutomationRulesMemory,
  UsersMemory
)

enforcementContract("memory", () => EnforcementMemory, EnforcementMemory, 50)
