import { Effect, Stream } from "effect"
import { createReadStream, type ReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { createGunzip, type Gunzip } from "node:zlib"
import { shiftEvent } from "../services/capture/shiftToNow.ts"
import { makeLineSplitter } from "../services/NdjsonLines.ts"
import { CommandFailed } from "./failure.ts"

/** A line to send, and how much of the input is read by then. */
export interface SourceLine {
  readonly text: string
  readonly share?: number | undefined
}

const failed = (path: string) => (cause: unknown) =>
  new CommandFailed({ message: `${path}: ${cause instanceof Error ? cause.message : String(cause)}` })

const unzipped = (file: ReadStream): Gunzip => {
  const gunzip = createGunzip()
  file.on("error", (error) => gunzip.destroy(error))
  return file.pipe(gunzip)
}

/** Lines of an NDJSON file, gzipped where its name ends in `.gz`, `-` for standard input. */
export const ndjsonLines = (path: string): Stream.Stream<SourceLine, CommandFailed> =>
  Stream.unwrap(
    Effect.gen(function*() {
      if (path === "-") {
        return Stream.fromAsyncIterable(process.stdin as AsyncIterable<Uint8Array>, failed("standard input")).pipe(
          linesOf(() => undefined)
        )
      }
      const size = yield* Effect.tryPromise({ try: () => stat(path), catch: failed(path) })
      const file = createReadStream(path, { highWaterMark: 1 << 18 })
      const input = path.endsWith(".gz") ? unzipped(file) : file
      return Stream.fromAsyncIterable(input as AsyncIterable<Uint8Array>, failed(path)).pipe(
        linesOf(() => file.bytesRead / Math.max(1, size.size))
      )
    })
  )

const linesOf =
  (share: () => number | undefined) =>
  <E>(octets: Stream.Stream<Uint8Array, E>): Stream.Stream<SourceLine, E | CommandFailed> =>
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
