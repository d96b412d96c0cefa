import { ClickHouseError as ServerError } from "@clickhouse/client"
import { Clock, Config, Duration, Effect, Layer, Schema } from "effect"
import type { Detector } from "../../schema/AutomationRule.ts"
import { DetectedMac, type Window } from "../../schema/Detection.ts"
import {
  type ActivitySource,
  cheapest,
  completeFrom,
  type DetectionPlan,
  detectionPlans,
  fewEvents
} from "../../services/DetectionPlan.ts"
import { type Detected, DetectionFailed, Detections } from "../../services/Detections.ts"
import { makeSharedCache } from "../../services/SharedCache.ts"
import { compileEstimate } from "./ActivitySql.ts"
import { ClickHouse } from "./ClickHouse.ts"
import type { ClickHouseError } from "./ClickHouseError.ts"
import type { ClientChoice } from "./DetectionConditions.ts"
import { compileDetection } from "./DetectionSql.ts"

const gibibyte = 1024 ** 3

const positive = (name: string, fallback: number) =>
  Config.integer(name).pipe(
    Config.withDefault(fallback),
    Config.validate({ message: `${name} must be a positive number of bytes`, validation: (bytes) => bytes > 0 })
  )

const limits = Config.all({
  timeout: Config.duration("NETOPS_RULE_TIMEOUT").pipe(Config.withDefault(Duration.seconds(30))),
  memory: positive("NETOPS_RULE_MEMORY_BYTES", 2 * gibibyte)
})

const memoryExceeded = "241"

/** Says what a user can do about it; ClickHouse's own message may tell of the installation. */
const failure = (timeout: Duration.Duration) => (error: ClickHouseError): DetectionFailed => {
  const failed = (message: string) => new DetectionFailed({ reason: "failed", message })
  if (error.reason === "unreachable") {
    return new DetectionFailed({ reason: "unreachable", message: "ClickHouse can't be reached" })
  }
  const narrower = "shorten lookback_minutes or narrow the filter"
  if (error.reason === "timeout") return failed(`ran longer than ${Duration.toSeconds(timeout)} s: ${narrower}`)
  if (error.code === memoryExceeded) return failed(`needed too much memory (code ${memoryExceeded}): ${narrower}`)
  const type = error.cause instanceof ServerError ? ` ${error.cause.type ?? ""}`.trimEnd() : ""
  return failed(`ClickHouse refused the query (code ${error.code}${type})`)
}

const decodeRows = Schema.decodeUnknown(Schema.Array(DetectedMac))

const Estimate = Schema.Array(
  Schema.Struct({ table: Schema.Literal("dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d"), rows: Schema.Int })
)
const decodeEstimate = Schema.decodeUnknown(Estimate)

/** For how long, and how many of them. All plans answer the same, so a choice that has aged costs time at most. */
const choiceKept_ms = 60_000
const choicesKept = 500

/** What the costs of plans hang on, but for the day. */
const choiceKey = (
  { exclude, filter, message_types, protocol }: Detector,
  { end, start }: Window,
  plans: ReadonlyArray<DetectionPlan>
): string =>
  JSON.stringify([
    protocol,
    filter,
    message_types,
    exclude,
    end.getTime() - start.getTime(),
    Math.floor(end.getTime() / choiceKept_ms),
    plans.map((plan) => plan.map(({ source }) => source))
  ])

/**
 * Evaluates rules over the events, or where it costs less over their sums by hour and day, each in one query of at most `NETOPS_RULE_TIMEOUT` (30 seconds) and
 * `NETOPS_RULE_MEMORY_BYTES` (2 GiB), from half of which on it sorts on disk.
 */
export const DetectionsClickHouse = Layer.scoped(
  Detections,
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse
    const { memory, timeout } = yield* limits
    const choices = yield* makeSharedCache<number, ClickHouseError>(choicesKept)

    const estimate = Effect.fnUntraced(function*(rule: Detector, plan: DetectionPlan) {
      const { rows: tables } = yield* clickhouse.query({ ...compileEstimate(rule, plan), timeout })
      const rows: { [S in ActivitySource]?: number } = {}
      for (const { rows: count, table } of yield* Effect.orDie(decodeEstimate(tables))) rows[table] = count
      return { plan, rows }
    })

    const choose = Effect.fnUntraced(function*(rule: Detector, plans: ReturnType<typeof detectionPlans>) {
      const [byEvents, ...byRollups] = plans
      const { rows: { dhcp_events: events = 0 } } = yield* estimate(rule, byEvents)
      if (events <= fewEvents) return 0
      const estimates = yield* Effect.forEach(byRollups, (plan) => estimate(rule, plan), { concurrency: "unbounded" })
      const best = cheapest(events, estimates)
      return best === undefined ? 0 : plans.indexOf(best.plan)
    })

    const planOf = Effect.fn("Detections.plan")(function*(rule: Detector, window: Window) {
      const plans = detectionPlans(rule, window, completeFrom(yield* Clock.currentTimeMillis))
      if (plans.length === 1) return plans[0]
      const { value } = yield* choices.get(choiceKey(rule, window, plans), choose(rule, plans), () => choiceKept_ms)
      return plans[value] ?? plans[0]
    })

    const evaluate = Effect.fn("Detections.evaluate")(function*(rule: Detector, window: Window, choice: ClientChoice) {
      const plan = yield* Effect.mapError(planOf(rule, window), failure(timeout))
      const statement = compileDetection(rule, window, choice, rule.max_detections, plan)
      const answer = yield* clickhouse.query({
        ...statement,
        timeout,
        settings: {
          exact_rows_before_limit: 1,
          max_memory_usage: String(memory),
          max_bytes_before_external_group_by: String(Math.floor(memory / 2))
        }
      }).pipe(Effect.mapError(failure(timeout)))
      const detected: Detected = {
        rows: yield* Effect.orDie(decodeRows(answer.rows)),
        total: answer.rowsBeforeLimit,
        ...statement,
        elapsedMs: answer.elapsedMs
      }
      return detected
    })

    return Detections.of({
      detect: (rule, window, except) => evaluate(rule, window, { except }),
      detectOnly: (rule, window, only) => evaluate(rule, window, { only })
    })
  })
)
