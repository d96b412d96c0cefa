import { Layer } from "effect"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { automationRulesContract } from "./AutomationRules.ts"

automationRulesContract("memory", Layer.merge(AutomationRulesMemory, UsersMemory), 100)
