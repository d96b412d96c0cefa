import { BatchLedgerMemory } from "../layers/BatchLedgerMemory.ts"
import { batchLedgerContract } from "./BatchLedger.ts"

batchLedgerContract("memory", BatchLedgerMemory, 300)
