import { Effect, Option, Schema } from "effect"
import { NotFound } from "../../api/problems.ts"
import { UserId } from "../../schema/User.ts"

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

/** Ids of users in their one notation; beyond the range of the column there is no user either. */
export const userIds = idFrom(
  Schema.compose(Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,9}$/)), Schema.NumberFromString).pipe(
    Schema.compose(UserId),
    Schema.filter((id) => id <= 2_147_483_647)
  ),
  "user"
)
