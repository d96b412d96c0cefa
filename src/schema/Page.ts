import { Data, Either, Schema } from "effect"

export const pageLimit = { default: 50, max: 1000 } as const

/** Query parameters that every list takes. */
export const PageQuery = {
  limit: Schema.optionalWith(
    Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, pageLimit.max)).annotations({
      description: `Items of a page, 1 to ${pageLimit.max}`
    }),
    { default: () => pageLimit.default }
  ),
  cursor: Schema.optional(
    Schema.String.pipe(Schema.maxLength(512)).annotations({ description: "`next` of the page before" })
  )
}

/** What a list is asked for: at most `limit` items, after the position that `cursor` names. */
export interface PageRequest {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** One page: `total` counts all pages together (null where counting was not asked for), `next` is null on the last. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly total: number | null
  readonly next: string | null
}

export const PageOf = <A, I, R>(item: Schema.Schema<A, I, R>) =>
  Schema.Struct({
    items: Schema.Array(item),
    total: Schema.NullOr(Schema.Int),
    next: Schema.NullOr(Schema.String)
  })

/** Opaque text of a position: the sort keys of the last item of a page. */
export const encodeCursor = (keys: ReadonlyArray<string | number>): string =>
  btoa(JSON.stringify(keys)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** The sort keys of a cursor that `encodeCursor` made with this many keys, else `undefined`. */
export const decodeCursor = (cursor: string, keys: number): ReadonlyArray<string | number> | undefined => {
  if (!/^[A-Za-z0-9_-]{1,512}$/.test(cursor)) return undefined
  try {
    const value: unknown = JSON.parse(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")))
    return Array.isArray(value) && value.length === keys &&
        value.every((key) => typeof key === "string" || typeof key === "number")
      ? value
      : undefined
  } catch {
    return undefined
  }
}

/** The cursor is none of this list: no page before gave it as its `next`. */
export class InvalidCursor extends Data.TaggedError("Page/InvalidCursor")<{}> {}

/** The id after which a page of a list ordered by integer ids begins, 0 where there is no cursor. */
export const afterIdOf = (cursor: string | undefined): Either.Either<number, InvalidCursor> => {
  if (cursor === undefined) return Either.right(0)
  const [id] = decodeCursor(cursor, 1) ?? []
  return typeof id === "number" && Number.isInteger(id) && id >= 0 && id <= 2_147_483_647
    ? Either.right(id)
    : Either.left(new InvalidCursor())
}

/** A page of at most `limit` rows out of `limit + 1` with the lowest ids. */
export const pageById = <A extends { readonly id: number }>(
  rows: ReadonlyArray<A>,
  limit: number,
  total: number
): Page<A> => {
  const items = rows.slice(0, limit)
  return { items, total, next: rows.length > limit ? encodeCursor([items.at(-1)!.id]) : null }
}
