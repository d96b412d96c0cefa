import { Schema } from "effect"
import { Problem } from "../Problem.ts"

export class ClientProtected extends Problem<ClientProtected>()(
  "ClientProtected",
  {
    status: 400,
    title: "The client is on the never-block list",
    help:
      "Gateways, servers and the like are never blocked or quarantined. `GET /api/actions/protected` shows the list."
  },
  { client: Schema.String }
) {}

export class BlocksExhausted extends Problem<BlocksExhausted>()("BlocksExhausted", {
  status: 429,
  title: "The blocks of this hour are used up",
  help: "NETOPS_BLOCKS_PER_HOUR bounds how many clients may be blocked in any hour, so that no mistake cuts off all."
}) {}

export class PreviewStale extends Problem<PreviewStale>()(
  "PreviewStale",
  {
    status: 409,
    title: "The preview no longer holds",
    help:
      "The clients that match are others than those of the preview, or it has expired. Preview again and look at it."
  },
  { total_count: Schema.NullOr(Schema.Int).annotations({ description: "how many match now; null where it expired" }) }
) {}

export class CriteriaHashMismatch extends Problem<CriteriaHashMismatch>()("CriteriaHashMismatch", {
  status: 400,
  title: "The hash is not that of this action and these criteria",
  help: "Send the `criteria_hash` of a preview with the action and the criteria that were previewed, unchanged."
}) {}

export class BulkLimitExceeded extends Problem<BulkLimitExceeded>()(
  "BulkLimitExceeded",
  {
    status: 400,
    title: "More clients match than a bulk job may act on",
    help: "Narrow the criteria; NETOPS_BULK_MAX_CLIENTS bounds a job."
  },
  { total_count: Schema.Int, max_limit: Schema.Int }
) {}

export class JobNotCancellable extends Problem<JobNotCancellable>()(
  "JobNotCancellable",
  {
    status: 400,
    title: "The job has ended",
    help: "Only a scheduled or running job can be cancelled. What a job did can be undone: `POST …/{id}/undo`."
  },
  { job_status: Schema.String }
) {}

export class JobNotUndoable extends Problem<JobNotUndoable>()(
  "JobNotUndoable",
  {
    status: 400,
    title: "The job can't be undone",
    help: "A job is undone once, after it has ended; an undo itself isn't undone."
  },
  { job_status: Schema.String }
) {}
