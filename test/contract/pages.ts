import { Effect, Schema } from "effect"
import type { Page, PageRequest } from "../../src/schema/Page.ts"

/** All pages of a list in turn, each of at most `limit` items. */
export const walk = Effect.fnUntraced(function*<A, E, R>(
  limit: number,
  list: (request: PageRequest) => Effect.Effect<Page<A>, E, R>
) {
  const pages = [yield* list({ limit })]
  for (let next = pages[0]!.next; next !== null; next = pages.at(-1)!.next) {
    pages.push(yield* list({ limit, cursor: next }))
  }
  return pages
})

/** Domain values as plain JSON, so that comparing them sees values only. */
export const encoder = <A, I>(schema: Schema.Schema<A, I>) => {
  const encode = Schema.encodeSync(schema)
  return (value: A): unknown => JSON.parse(JSON.stringify(encode(value)))
}
