import { Effect } from "effect"
import { parseArgs } from "node:util"
import { bulk } from "./bulk.ts"
import { enforce } from "./enforce.ts"
import { firewall } from "./firewall.ts"
import { footprint } from "./footprint.ts"
import { report, type Result } from "./harness.ts"
import { http } from "./http.ts"
import { ingest } from "./ingest.ts"
import { metrics } from "./metrics.ts"
import { preview } from "./preview.ts"
import { benchRules } from "./rules.ts"
import { type Service, startService } from "./service.ts"
import { streamDelay, streams } from "./streams.ts"

type Case = (service: Service, events: number) => Promise<Result | ReadonlyArray<Result>>

const cases: Readonly<Record<string, Case>> = {
  ingest,
  footprint,
  preview,
  metrics,
  rules: benchRules,
  streams,
  streamDelay,
  bulk,
  enforce,
  firewall,
  http
}

const { positionals, values } = parseArgs({
  strict: false,
  allowPositionals: true,
  options: { events: { type: "string", default: "1000000" } }
})

/**
 * All cases, or those named on the command line, each beside its peer in this one run. `--events N` is how many events
 * the metrics are measured over; 100 million need some 3 GB below the system's directory for temporary files.
 */
const main = Effect.scoped(
  Effect.gen(function*() {
    const named = positionals.filter((name) => name in cases)
    const service = yield* startService
    const results: Array<Result> = []
    for (const name of named.length > 0 ? named : Object.keys(cases)) {
      const measured = [yield* Effect.promise(() => cases[name]!(service, Number(values.events)))].flat()
      for (const { ours, peer, ratio, title } of measured) {
        process.stderr.write(`${[title, ours, peer, ratio].filter((text) => text !== "").join(" | ")}\n`)
      }
      results.push(...measured)
    }
    yield* Effect.promise(() => report(results))
  })
)

Effect.runPromise(main).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
})
