import { Effect, Layer } from "effect"
import { ActionLimitsLive } from "../../src/layers/ActionLimitsLive.ts"
import { BulkJobRunLive } from "../../src/layers/cluster/BulkJobRun.ts"
import { BulkJobStarter } from "../../src/layers/cluster/BulkJobStarter.ts"
import { ClusterLive, ClusterNodeLive } from "../../src/layers/cluster/Cluster.ts"
import { DataDirLive } from "../../src/layers/DataDir.ts"
import { EnforcementLoop } from "../../src/layers/EnforcementLoop.ts"
import { EnforcerNft } from "../../src/layers/nft/EnforcerNft.ts"
import { NftCommand } from "../../src/layers/nft/NftCommand.ts"
import { BulkJobsPg } from "../../src/layers/postgres/BulkJobsPg.ts"
import { DesiredMacsPg } from "../../src/layers/postgres/DesiredMacsPg.ts"
import { PostgresLive } from "../../src/layers/postgres/Postgres.ts"

// Bulk jobs and enforcement of a node, run as a process of its own to be killed.
const node = Layer.mergeAll(BulkJobRunLive, BulkJobStarter, EnforcementLoop).pipe(
  Layer.provide(EnforcerNft),
  Layer.provide([BulkJobsPg, DesiredMacsPg]),
  Layer.provide(ClusterLive),
  Layer.provide([PostgresLive, ClusterNodeLive, Layer.provide(NftCommand, DataDirLive), ActionLimitsLive])
)

Effect.runFork(Layer.launch(node))
