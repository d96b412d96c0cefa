import { Effect } from "effect"
import { bulk } from "./bulk.ts"
import { enforce } from "./enforce.ts"
import { report, type Result } from "./harness.ts"
import { ingest } from "./ingest.ts"
import { preview } from "./preview.ts"
import { type Service, startService } from "./service.ts"

const cases: Readonly<Record<string, (service: Service) => Promise<Result | ReadonlyArray<Result>>>> = {
  ingest,
  preview,
  bulk,
  enforce
}

/** All cases, or those named on the command line, each beside its peer in this one run. */
const main = Effect.scoped(
  Effect.gen(function*() {
    const named = process.argv.slice(2).filter((name) => name in cases)
    const service = yield* startService
    const results: Array<Result> = []
    for (const name of named.length > 0 ? named : Object.keys(cases)) {
      const measured = [yield* Effect.promise(() => cases[name]!(service))].flat()
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
