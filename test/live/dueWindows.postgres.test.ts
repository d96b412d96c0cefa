import { Layer } from "effect"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { DueWindowsPg } from "../../src/layers/postgres/DueWindowsPg.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { dueWindowsContract } from "../contract/DueWindows.ts"
import { PostgresTest } from "../support/engines.ts"

const all = Layer.mergeAll(DueWindowsPg, RuleLedgerPg, AutomationRulesPg, UsersPg)

dueWindowsContract("postgres", Layer.provide(all, PostgresTest), 20)
