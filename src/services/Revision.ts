import { Data } from "effect"

/** The record has another revision than the caller expects, so nothing was written. */
export class RevisionMismatch extends Data.TaggedError("Revision/RevisionMismatch")<{ readonly revision: number }> {}

/** Revisions that a write is content to find; `undefined` takes any. */
export type Expected = ReadonlyArray<number> | undefined

export const isExpected = (expected: Expected, revision: number): boolean =>
  expected === undefined || expected.includes(revision)
