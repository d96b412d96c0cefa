import { Console, Data, Effect } from "effect"

/** Ends a command with one line on standard error and exit code 1. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

interface Told {
  readonly _tag: string
  readonly message?: string
  readonly detail?: string
  readonly error?: unknown
}

const lineOf = (error: Told): string => {
  if (error._tag === "RequestError" || error._tag === "ResponseError") {
    return `the service could not be reached: ${error.message ?? error._tag}`
  }
  const said = error.detail ?? error.message ?? ""
  return said.split("\n").filter((line) => line.trim() !== "").join("; ") || error._tag
}

/** Tells a failure in one line; what is unexpected keeps its trace. */
export const tellFailure = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.catchAll(self, (error) =>
    Console.error(`netops: ${lineOf(error as Told)}`).pipe(
      Effect.zipRight(Effect.sync(() => {
        process.exitCode = 1
      }))
    ))
