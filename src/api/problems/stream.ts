import { Schema } from "effect"
import { Problem } from "../Problem.ts"

export class FilterLimit extends Problem<FilterLimit>()("FilterLimit", {
  status: 400,
  title: "The user has as many filters as there can be",
  help: "Delete filters that are no longer used, or change one."
}) {}

export class StreamLimit extends Problem<StreamLimit>()(
  "StreamLimit",
  {
    status: 429,
    title: "The user has as many live streams open as there can be",
    help: "Close a stream that is no longer needed; one that was cut is given up within seconds."
  },
  { retry_after: Schema.Int.annotations({ description: "seconds; equals the Retry-After header" }) }
) {}
