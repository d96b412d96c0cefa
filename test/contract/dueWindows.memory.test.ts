import { Layer } from "effect"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { DueWindowsMemory } from "../layers/DueWindowsMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { dueWindowsContract } from "./DueWindows.ts"

dueWindowsContract(
  "memory",
  Layer.mergeAll(DueWindowsMemory, RuleLedgerMemory, AutomationRulesMemory, UsersMemory),
  20
)
