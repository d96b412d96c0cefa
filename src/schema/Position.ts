import { DateTime, Either, Schema } from "effect"
import { decodeCursor, encodeCursor, InvalidCursor, type Page } from "./Page.ts"

/** Place in a list that has the newest first: by time, then by id, both descending. */
export interface Position {
  readonly at: DateTime.Utc
  /** a UUID */
  readonly id: string
}

/** The end of year 9999: any store knows it. */
const lastInstant = 253_402_300_799_999

const Keys = Schema.Tuple(Schema.Int.pipe(Schema.between(0, lastInstant)), Schema.UUID)
const decodeKeys = Schema.decodeUnknownEither(Keys)

/** The position that a cursor names, `undefined` where there is no cursor. */
export const positionOf = (cursor: string | undefined): Either.Either<Position | undefined, InvalidCursor> =>
  cursor === undefined
    ? Either.right(undefined)
    : Either.mapBoth(decodeKeys(decodeCursor(cursor, 2)), {
      onLeft: () => new InvalidCursor(),
      onRight: ([at, id]) => ({ at: DateTime.unsafeMake(at), id })
    })

/** A page of at most `limit` rows out of `limit + 1` that were looked for from its start on. */
export const pageOfRows = <A>(
  rows: ReadonlyArray<A>,
  limit: number,
  total: number,
  position: (row: A) => Position
): Page<A> => {
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const keys = last && position(last)
  return {
    items: rows.slice(0, limit),
    total,
    next: keys === undefined ? null : encodeCursor([DateTime.toEpochMillis(keys.at), keys.id])
  }
}
