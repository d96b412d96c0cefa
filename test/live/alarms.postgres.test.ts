import { Layer } from "effect"
import { AlarmsPg } from "../../src/layers/postgres/AlarmsPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { alarmsContract } from "../contract/Alarms.ts"
import { PostgresTest } from "../support/engines.ts"

alarmsContract("postgres", Layer.provide(Layer.mergeAll(AlarmsPg, AutomationRulesPg, UsersPg), PostgresTest), 15)
