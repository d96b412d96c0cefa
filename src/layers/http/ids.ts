import { Effect, Option, Schema } from "effect"
import { NotFound } from "../../api/problems.ts"

/** A malformed id is answered as an unknown one: nobody learns what exists. */
export const idFrom = <A>(schema: Schema.Schema<A, string>, what: string) => {
  const decode = Schema.decodeOption(schema)
  const missing = () => new NotFound({ detail: `There is no such ${what}` })
  return {
    missing: () => Effect.fail(missing()),
    parse: (text: string): Effect.Effect<A, NotFound> =>
      Option.match(decode(text), { onNone: () => Effect.fail(missing()), onSome: Effect.succeed })
  }
}
