import { Layer } from "effect"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { automationRulesContract } from "../contract/AutomationRules.ts"
import { PostgresTest } from "../support/engines.ts"

automationRulesContract("postgres", Layer.merge(AutomationRulesPg, UsersPg).pipe(Layer.provide(PostgresTest)), 60)
