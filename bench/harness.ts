import { writeFile } from "node:fs/promises"
import { cpus, totalmem } from "node:os"

/** One measured side: a name and what it does once; `rate` turns its seconds into a figure to read. */
export interface Side {
  readonly name: string
  /** What is to be there before each run, and isn't timed. */
  readonly prepare?: () => Promise<unknown>
  readonly run: () => Promise<void>
}

/** Two sides of the same work, measured side by side. */
export interface Comparison {
  readonly title: string
  readonly ours: Side
  readonly peer: Side
  /** Units of work that each run does, for a rate; without it times are told. */
  readonly work?: { readonly count: number; readonly unit: string }
  /** What the ratio ought to be, in words. */
  readonly target: string
}

export interface Result {
  readonly title: string
  readonly ours: string
  readonly peer: string
  readonly ratio: string
  readonly target: string
}

const seconds = async (side: Side): Promise<number> => {
  await side.prepare?.()
  const start = performance.now()
  await side.run()
  return (performance.now() - start) / 1000
}

/** The middle one of the values. */
export const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

/** Runs both sides in turns and compares the medians; the ratio is ours to the peer's, of rates or of times. */
export const compare = async (comparison: Comparison, rounds = 5): Promise<Result> => {
  const { ours, peer, target, title, work } = comparison
  await seconds(ours)
  await seconds(peer)
  const times: { readonly ours: Array<number>; readonly peer: Array<number> } = { ours: [], peer: [] }
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? ["ours", "peer"] as const : ["peer", "ours"] as const) {
      times[side].push(await seconds(comparison[side]))
    }
  }
  const [own, other] = [median(times.ours), median(times.peer)]
  const told = (name: string, time: number) =>
    `${name}: ${
      work === undefined ? `${(time * 1000).toFixed(1)} ms` : `${Math.round(work.count / time)} ${work.unit}/s`
    }`
  const ratio = work === undefined ? own / other : other / own
  return {
    title,
    ours: told(ours.name, own),
    peer: told(peer.name, other),
    ratio: `${ratio.toFixed(2)} x ${work === undefined ? "the time" : "the rate"}`,
    target
  }
}

/** Prints the results and writes them with the machine's name to `bench/RESULTS.md`. */
export const report = async (results: ReadonlyArray<Result>) => {
  const machine = `${cpus()[0]?.model.trim() ?? "unknown CPU"}, ${cpus().length} cores, ${
    Math.round(totalmem() / 2 ** 30)
  } GiB, Node ${process.version}`
  const rows = results.map(({ ours, peer, ratio, target, title }) =>
    `| ${title} | ${ours} | ${peer} | ${ratio} | ${target} |`
  )
  const text = [
    "# Results of `npm run bench`",
    "",
    `Medians of alternating rounds in one run, on ${machine}, ${new Date().toISOString().slice(0, 10)}.`,
    "",
    "| what | ours | beside it | ratio | target |",
    "|---|---|---|---|---|",
    ...rows,
    ""
  ].join("\n")
  process.stdout.write(`${text}\n`)
  await writeFile(new URL("RESULTS.md", import.meta.url), text)
}
