import { Either } from "effect"
import { createHash, type Hash } from "node:crypto"
import { type EventWindow, outsideWindow } from "./EventWindow.ts"
import type { NdjsonLine } from "./NdjsonLines.ts"

/** A refused line: its number from 1, and what is wrong with it. */
export interface RefusedLine {
  readonly line: number
  readonly message: string
}

/** Lines that are stored together. */
export interface LineBatch<Event> {
  readonly firstLine: number
  readonly events: ReadonlyArray<Event>
  readonly rejected: number
  /** The first refused lines of the batch. */
  readonly errors: ReadonlyArray<RefusedLine>
  /** SHA-256 of the lines in hex, empty where no digest was asked for. */
  readonly digest: string
}

/** Bounds of a batch: how many lines, how many characters of them. */
export const batchLimits = { lines: 20_000, characters: 16 * 1024 * 1024, errors: 100 } as const

/**
 * Cuts a stream of lines into batches. The cuts depend on nothing but the lines, so that the same stream sent again
 * gives the same batches.
 */
export class IngestBatches<Event extends { readonly event_time: string }> {
  readonly #decode: (line: string) => Either.Either<Event, string>
  readonly #window: EventWindow
  readonly #digests: boolean
  #firstLine = 1
  #lastLine = 0
  #characters = 0
  #rejected = 0
  #events: Array<Event> = []
  #errors: Array<RefusedLine> = []
  #hash: Hash | undefined

  constructor(decode: (line: string) => Either.Either<Event, string>, window: EventWindow, digests: boolean) {
    this.#decode = decode
    this.#window = window
    this.#digests = digests
  }

  #refuse(line: number, message: string) {
    this.#rejected++
    if (this.#errors.length < batchLimits.errors) this.#errors.push({ line, message })
  }

  #judge(line: NdjsonLine) {
    if ("refused" in line) return this.#refuse(line.number, line.refused)
    this.#characters += line.text.length
    if (this.#digests) (this.#hash ??= createHash("sha256")).update(line.text).update("\n")
    const decoded = this.#decode(line.text)
    if (Either.isLeft(decoded)) return this.#refuse(line.number, decoded.left)
    const outside = outsideWindow(decoded.right, this.#window)
    if (outside !== undefined) return this.#refuse(line.number, outside)
    this.#events.push(decoded.right)
  }

  #cut(): LineBatch<Event> {
    const batch = {
      firstLine: this.#firstLine,
      events: this.#events,
      rejected: this.#rejected,
      errors: this.#errors,
      digest: this.#hash?.digest("hex") ?? ""
    }
    this.#firstLine = this.#lastLine + 1
    this.#characters = 0
    this.#rejected = 0
    this.#events = []
    this.#errors = []
    this.#hash = undefined
    return batch
  }

  /** Takes lines in order, gives the batches that they complete. */
  push(lines: ReadonlyArray<NdjsonLine>): ReadonlyArray<LineBatch<Event>> {
    const ready: Array<LineBatch<Event>> = []
    for (const line of lines) {
      this.#judge(line)
      this.#lastLine = line.number
      const full = line.number - this.#firstLine + 1 >= batchLimits.lines ||
        this.#characters >= batchLimits.characters
      if (full) ready.push(this.#cut())
    }
    return ready
  }

  /** The last batch, none where no line is left. */
  end(): ReadonlyArray<LineBatch<Event>> {
    return this.#lastLine >= this.#firstLine ? [this.#cut()] : []
  }
}
