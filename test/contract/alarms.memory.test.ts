import { Layer } from "effect"
import { AlarmsMemory } from "../layers/AlarmsMemory.ts"
import { AutomationRulesMemory } from "../layers/AutomationRulesMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { alarmsContract } from "./Alarms.ts"

alarmsContract("memory", Layer.mergeAll(AlarmsMemory, AutomationRulesMemory, UsersMemory), 20)
