import { RetentionMemory } from "../layers/RetentionMemory.ts"
import { retentionContract } from "./Retention.ts"

retentionContract("memory", RetentionMemory)
