import { Layer } from "effect"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { RuleLedgerMemory } from "../layers/RuleLedgerMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { ruleLedgerContract } from "./RuleLedger.ts"

ruleLedgerContract("memory", Layer.mergeAll(RuleLedgerMemory, ActionsMemory, AutomationRulesMemory, UsersMemory), 25)
