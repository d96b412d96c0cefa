import { BatchNumbersMemory } from "../layers/BatchNumbersMemory.ts"
import { batchNumbersContract } from "./BatchNumbers.ts"

batchNumbersContract("memory", BatchNumbersMemory)
