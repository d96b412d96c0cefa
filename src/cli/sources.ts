import { Effect, Stream } from "effect"
import { ndjsonFile } from "../layers/capture/NdjsonFile.ts"
import { shiftEvent } from "../services/capture/shiftToNow.ts"
import { makeLineSplitter } from "../services/NdjsonLines.ts"
import type { CaptureFailed } from "../services/PacketCapture.ts"
import { CommandFailed } from "./failure.ts"

/** A line to send, and how much of the input is read by then. */
export interface SourceLine {
  readonly text: string
  readonly share?: number | undefined
}

const standardInput = Stream.fromAsyncIterable(
  { [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array> },
  (cause) => new CommandFailed({ message: `standard input: ${String(cause)}` })
)

/** Lines of an NDJSON file, also a gzipped one; `-` is standard input. */
export const ndjsonLines = (path: string): Stream.Stream<SourceLine, CommandFailed | CaptureFailed> =>
  Stream.suspend((): Stream.Stream<SourceLine, CommandFailed | CaptureFailed> => {
    if (path === "-") return linesOf(() => undefined)(standardInput)
    let read = 0
    const octets = ndjsonFile(path, (share) => {
      read = share
    })
    return linesOf(() => read)(octets)
  })

const linesOf =
  (share: () => number | undefined) => <E>(octets: Stream.Stream<Uint8Array, E>): Stream.Stream<SourceLine, E> =>
    Stream.suspend(() => {
      const splitter = makeLineSplitter()
      const toLine = (line: ReturnType<typeof splitter.push>[number]): SourceLine => ({
        text: "text" in line ? line.text : "",
        share: share()
      })
      return octets.pipe(
        Stream.mapConcat((chunk) => splitter.push(chunk).map(toLine)),
        Stream.concat(Stream.suspend(() => Stream.fromIterable(splitter.end().map(toLine))))
      )
    })

const timeOf = (line: string): number => {
  try {
    const time = Date.parse((JSON.parse(line) as { readonly event_time: string }).event_time)
    return Number.isNaN(time) ? -Infinity : time
  } catch {
    return -Infinity
  }
}

/** The lines moved in time so that the last event is now; reads the source twice, keeps none of it. */
export const shiftLinesToNow = <E, R>(
  lines: () => Stream.Stream<SourceLine, E, R>,
  nowMillis: number
): Stream.Stream<SourceLine, E, R> =>
  Stream.unwrap(
    Effect.map(
      Stream.runFold(lines(), -Infinity, (latest, line) => Math.max(latest, timeOf(line.text))),
      (latest) =>
        lines().pipe(Stream.map((line) =>
          timeOf(line.text) === -Infinity
            ? line
            : { ...line, text: JSON.stringify(shiftEvent(JSON.parse(line.text), nowMillis - latest)) }
        ))
    )
  )
