import { Layer } from "effect"
import { BatchLedgerPg } from "../../src/layers/postgres/BatchLedgerPg.ts"
import { batchLedgerContract } from "../contract/BatchLedger.ts"
import { PostgresTest } from "../support/engines.ts"

batchLedgerContract("postgres", Layer.provide(BatchLedgerPg, PostgresTest), 40)
