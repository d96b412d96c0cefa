import { Clock, Effect } from "effect"

/** What is shown while events are sent. */
export interface Progress {
  readonly accepted: number
  readonly rejected: number
  /** Share of the input that is done, from 0 to 1, where its size is known. */
  readonly share?: number | undefined
}

const barWidth = 24

const bar = (share: number): string => {
  const full = Math.round(share * barWidth)
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}] ${String(Math.floor(share * 100)).padStart(3)} % `
}

const line = ({ accepted, rejected, share }: Progress, seconds: number): string =>
  `${share === undefined ? "" : bar(Math.min(1, share))}${accepted} accepted, ${rejected} rejected, ` +
  `${Math.round(accepted / Math.max(seconds, 0.001))} events/s`

/** Draws progress in place on a terminal, elsewhere as a plain line every few seconds; `done` writes the last one. */
export const makeProgress = (out: NodeJS.WriteStream) =>
  Effect.map(Clock.currentTimeMillis, (startedMillis) => {
    let lastMillis = startedMillis
    const show = (progress: Progress, last: boolean) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (!last && now - lastMillis < (out.isTTY ? 100 : 5000)) return
        lastMillis = now
        const text = line(progress, (now - startedMillis) / 1000)
        out.write(out.isTTY ? `\r\u001b[2K${text}${last ? "\n" : ""}` : `${text}\n`)
      })
    return {
      update: (progress: Progress) => show(progress, false),
      done: (progress: Progress) => show(progress, true)
    }
  })
