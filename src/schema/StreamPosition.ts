/**
 * A position in the stream of events: after the event in row `row` of the batch at `place`, or after all of that batch
 * where the row is `wholeBatch`.
 */
export interface StreamPosition {
  readonly place: number
  readonly row: number
}

/** Greater than any row: rows are 32 bits wide. */
export const wholeBatch = 2 ** 32

/** After a batch as a whole. */
export const afterBatch = (place: number): StreamPosition => ({ place, row: wholeBatch })

/** Whether a position lies after another. */
export const isBeyond = (a: StreamPosition, b: StreamPosition): boolean =>
  a.place > b.place || (a.place === b.place && a.row > b.row)

/** The text of a position that clients send back: `17-4`, or `17` after all of a batch. */
export const positionText = ({ place, row }: StreamPosition): string =>
  row === wholeBatch ? String(place) : `${place}-${row}`

/** The position that a text names, `undefined` where it names none. */
export const parsePosition = (text: string): StreamPosition | undefined => {
  const found = /^(0|[1-9]\d{0,15})(?:-(0|[1-9]\d{0,9}))?$/.exec(text)
  if (found === null) return undefined
  const [, place, row] = found
  const position = row === undefined ? afterBatch(Number(place)) : { place: Number(place), row: Number(row) }
  return Number.isSafeInteger(position.place) && position.row <= wholeBatch ? position : undefined
}
