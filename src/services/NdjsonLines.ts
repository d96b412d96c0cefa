import { Stream } from "effect"
import { lineLengthMax } from "./DhcpEventLine.ts"

/** A line that isn't blank with its number from 1 (blank lines count), or why its octets are refused. */
export type NdjsonLine =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly refused: string }

const newline = 10
const tooLong = `expected a line of at most ${lineLengthMax} octets`
const notUtf8 = "expected UTF-8"

const utf8 = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decoded = (decoder: TextDecoder, octets: Uint8Array): string | undefined => {
  try {
    return decoder.decode(octets)
  } catch {
    return undefined
  }
}

/**
 * Splits octets into lines as they come, holding at most one line and one chunk: of an endless line nothing is kept.
 * `push` gives the lines that end in the chunk; `end` the last one, when no line feed follows it.
 */
export interface LineSplitter {
  readonly push: (chunk: Uint8Array) => ReadonlyArray<NdjsonLine>
  readonly end: () => ReadonlyArray<NdjsonLine>
}

export const makeLineSplitter = (): LineSplitter => {
  const decoder = utf8()
  let number = 0
  let pending: Array<Uint8Array> = []
  let pendingLength = 0
  let overlong = false

  const add = (lines: Array<NdjsonLine>, text: string | undefined) => {
    number++
    if (text === undefined) return void lines.push({ number, refused: notUtf8 })
    const start = number === 1 && text.charCodeAt(0) === 0xfeff ? 1 : 0
    const end = text.charCodeAt(text.length - 1) === 13 ? text.length - 1 : text.length
    const line = start === 0 && end === text.length ? text : text.slice(start, end)
    if (line.length * 3 > lineLengthMax && Buffer.byteLength(line) > lineLengthMax) {
      lines.push({ number, refused: tooLong })
    } else if (line.trim() !== "") lines.push({ number, text: line })
  }

  const keep = (octets: Uint8Array) => {
    if (octets.length === 0 || overlong) return
    pendingLength += octets.length
    if (pendingLength > lineLengthMax + 1) {
      overlong = true
      pending = []
    } else pending.push(octets.slice())
  }

  const finishPending = (lines: Array<NdjsonLine>) => {
    if (overlong) lines.push({ number: ++number, refused: tooLong })
    else add(lines, decoded(decoder, pending.length === 1 ? pending[0]! : Buffer.concat(pending)))
    pending = []
    pendingLength = 0
    overlong = false
  }

  /** Whole lines without the last line feed: at once where all is UTF-8, else one by one. */
  const addAll = (lines: Array<NdjsonLine>, octets: Uint8Array) => {
    const text = decoded(decoder, octets)
    if (text !== undefined) {
      for (const line of text.split("\n")) add(lines, line)
      return
    }
    let start = 0
    while (start <= octets.length) {
      const found = octets.indexOf(newline, start)
      const end = found < 0 ? octets.length : found
      add(lines, decoded(decoder, octets.subarray(start, end)))
      start = end + 1
    }
  }

  return {
    push: (chunk) => {
      const lines: Array<NdjsonLine> = []
      const first = chunk.indexOf(newline)
      if (first < 0) {
        keep(chunk)
        return lines
      }
      let start = 0
      if (pendingLength > 0) {
        keep(chunk.subarray(0, first))
        finishPending(lines)
        start = first + 1
      }
      const last = chunk.lastIndexOf(newline)
      if (last >= start) addAll(lines, chunk.subarray(start, last))
      keep(chunk.subarray(last + 1))
      return lines
    },
    end: () => {
      const lines: Array<NdjsonLine> = []
      if (pendingLength > 0) finishPending(lines)
      return lines
    }
  }
}

/** The lines of a stream of octets, in order; a chunk's lines stay one chunk. */
export const splitLines = <E, R>(octets: Stream.Stream<Uint8Array, E, R>): Stream.Stream<NdjsonLine, E, R> =>
  Stream.suspend(() => {
    const splitter = makeLineSplitter()
    return octets.pipe(
      Stream.mapConcat(splitter.push),
      Stream.concat(Stream.suspend(() => Stream.fromIterable(splitter.end())))
    )
  })
