import { Layer } from "effect"
import { ActionsPg } from "../../src/layers/postgres/ActionsPg.ts"
import { BulkJobsPg } from "../../src/layers/postgres/BulkJobsPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { bulkJobsContract } from "../contract/BulkJobs.ts"
import { ActionsMemory } from "../layers/ActionsMemory.ts"
import { BulkJobsMemory } from "../layers/BulkJobsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { PostgresTest } from "../support/engines.ts"

bulkJobsContract(
  "postgres, at length",
  Layer.mergeAll(BulkJobsPg, ActionsPg, UsersPg).pipe(Layer.provide(PostgresTest)),
  Layer.mergeAll(BulkJobsMemory, ActionsMemory, UsersMemory),
  { script: 200, races: 1000 }
)
