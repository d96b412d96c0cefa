import { Schema } from "effect"

/** Verdict on a stream of events: every line is either accepted, and then stored, or rejected by name. */
export const IngestVerdict = Schema.Struct({
  accepted: Schema.NonNegativeInt,
  rejected: Schema.NonNegativeInt,
  errors: Schema.Array(Schema.Struct({
    line: Schema.Int.annotations({ description: "number of the line, from 1" }),
    message: Schema.String
  })).annotations({ description: "the first 100 rejected lines" })
}).annotations({ identifier: "IngestResult" })
export type IngestVerdict = typeof IngestVerdict.Type
