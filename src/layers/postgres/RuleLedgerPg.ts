import { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Layer, Option } from "effect"
import { clientOfDetection } from "../../schema/Detection.ts"
import type { RuleRun } from "../../schema/RuleRun.ts"
import { clientsOf, ordersOf } from "../../services/ActionOrders.ts"
import { RuleMissing } from "../../services/AutomationRules.ts"
import { DueLost } from "../../services/DueWindows.ts"
import { detectionEvents, runEvents } from "../../services/ruleEvents.ts"
import { type Enforced, type Enforcement, RuleLedger } from "../../services/RuleLedger.ts"
import { ServiceEvents } from "../../services/ServiceEvents.ts"
import { ledgerStatements, RunRow } from "./ledgerSql.ts"
import { newestPage } from "./newestPage.ts"
import { orderStatements } from "./orderSql.ts"
import { ServiceEventsPg } from "./ServiceEventsPg.ts"
import { codeOf } from "./sql.ts"

const isGone = (error: SqlError): boolean =>
  codeOf(error) === "23503" &&
  (error.cause as { readonly constraint?: unknown }).constraint === "automation_runs_rule"

const isDeadlock = (error: { readonly _tag: string }): boolean =>
  error._tag === "SqlError" && codeOf(error as SqlError) === "40P01"

const defects = { SqlError: Effect.die, ParseError: Effect.die } as const

export const RuleLedgerPg = Layer.effect(
  RuleLedger,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const statements = yield* ledgerStatements
    const events = yield* ServiceEvents
    const { place } = yield* orderStatements
    const page = yield* newestPage({
      table: "automation_runs",
      time: "started_at",
      row: RunRow,
      position: ({ id, started_at }) => ({ at: started_at, id })
    })

    const act = Effect.fnUntraced(function*(enforcement: Enforcement) {
      const { apartMinutes, at, cooldownUntil: until, detections, rule, run, seenAt } = enforcement
      const clientsWanted = clientsOf(detections)
      const claimed = yield* statements.claim({ rule, run, at, until, seenAt, apartMinutes, clients: clientsWanted })
      yield* statements.forgetCooldowns({ rule, at })
      const clients = new Set(claimed.map(({ client }) => client))
      const taken = detections.filter((detection) => clients.has(clientOfDetection(detection)))
      const orders = ordersOf(enforcement, taken)
      if (orders.length === 0) return { detections: taken, actionsTriggered: 0, actionsRefused: 0 }
      const { changed, refused } = yield* place(orders, {
        at,
        reason: enforcement.reason,
        origin: { kind: "rule_run", id: run }
      })
      return { detections: taken, actionsTriggered: changed.length, actionsRefused: refused.length }
    })

    const write = Effect.fnUntraced(function*(run: RuleRun) {
      yield* statements.insertRun(run)
      if (run.status === "failed") {
        const rule = yield* statements.labelOf(run.rule_id)
        if (Option.isSome(rule)) yield* events.publish(runEvents(rule.value, run))
      }
      if (run.due_at === null) return
      const settled = yield* statements.settle(run)
      if (settled.length === 0) return yield* new DueLost({ run: run.id })
    })

    const enforce = Effect.fnUntraced(function*(enforcement: Enforcement, conclude: (outcome: Enforced) => RuleRun) {
      const rule = yield* statements.lockRule(enforcement.rule)
      if (Option.isNone(rule)) return yield* new RuleMissing({ id: enforcement.rule })
      const outcome = yield* act(enforcement)
      const run = conclude(outcome)
      yield* write(run)
      yield* events.publish(detectionEvents(rule.value, run.id, enforcement.at, outcome.detections))
      return run
    })

    return RuleLedger.of({
      inCooldown: (rule, at) =>
        Effect.orDie(Effect.map(statements.inCooldown({ rule, at }), (rows) => rows.map(({ client }) => client))),
      record: (run) =>
        // One statement is a transaction by itself, and spares its beginning and end.
        (run.due_at === null ? write(run) : sql.withTransaction(write(run))).pipe(
          Effect.catchIf(
            (error) => error._tag === "SqlError" && isGone(error),
            () => Effect.fail(new RuleMissing({ id: run.rule_id }))
          ),
          Effect.catchTags(defects),
          Effect.withSpan("RuleLedger.record")
        ),
      enforce: (enforcement, conclude) =>
        enforce(enforcement, conclude).pipe(
          sql.withTransaction,
          // Runs of different rules whose clients overlap while some of their actions run out can still cross.
          Effect.retry({ while: isDeadlock, times: 5 }),
          Effect.catchTags(defects),
          Effect.withSpan("RuleLedger.enforce")
        ),
      runs: (rule, request) => page(sql`rule_id = ${rule}`, request)
    })
  })
).pipe(Layer.provide(ServiceEventsPg))
