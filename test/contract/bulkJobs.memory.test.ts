import { Layer } from "effect"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { BulkJobsMemory } from "../layers/BulkJobsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { bulkJobsContract } from "./BulkJobs.ts"

const memory = Layer.mergeAll(BulkJobsMemory, ActionsMemory, UsersMemory)

bulkJobsContract("memory", memory, memory, { script: 30, races: 10 })
