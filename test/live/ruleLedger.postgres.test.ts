import { Layer } from "effect"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { AutomationRulesPg } from "../../src/layers/postgres/AutomationRulesPg.ts"
import { RuleLedgerPg } from "../../src/layers/postgres/RuleLedgerPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { ruleLedgerContract } from "../contract/RuleLedger.ts"
import { PostgresTest } from "../support/engines.ts"

ruleLedgerContract(
  "postgres",
  Layer.mergeAll(RuleLedgerPg, ActionsPg, AutomationRulesPg, UsersPg).pipe(Layer.provide(PostgresTest)),
  30
)
