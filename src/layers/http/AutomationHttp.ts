import { HttpServerResponse } from "@effect/platform"
import { DateTime, Effect, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidRequest, Unavailable } from "../../api/problems.ts"
import { type AutomationRule, AutomationRuleAnswer, RuleId, warningsOf } from "../../schema/AutomationRule.ts"
import { type RuleRun, verdictOf } from "../../schema/RuleRun.ts"
import { AutomationRules } from "../../services/AutomationRules.ts"
import { backfill } from "../../services/Backfill.ts"
import type { DetectionFailed } from "../../services/Detections.ts"
import { DueWindows } from "../../services/DueWindows.ts"
import { Ids } from "../../services/Ids.ts"
import { RuleLedger } from "../../services/RuleLedger.ts"
import { type InvalidWindow, RuleRunner } from "../../services/RuleRunner.ts"
import { schedulerStatus } from "../../services/schedulerStatus.ts"
import { CurrentRequest, note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { expected, preconditionFailed } from "./revisions.ts"

const ruleId = idFrom(RuleId, "rule")

const withWarnings = (rule: AutomationRule) => ({ ...rule, warnings: warningsOf(rule) })

const withVerdict = (run: RuleRun) => ({ ...run, verdict: run.due_at === null ? null : verdictOf(run.status) })

const encodeAnswer = Schema.encode(AutomationRuleAnswer)

const told = (rule: AutomationRule) => Effect.orDie(encodeAnswer(withWarnings(rule)))

const unreachable = ({ message }: DetectionFailed) => new Unavailable({ detail: message })

const invalidWindow = ({ field, message }: InvalidWindow) =>
  new InvalidRequest({
    detail: `The body is not valid at /${field}: ${message}`,
    errors: [{ in: "body", pointer: `/${field}`, message }]
  })

const invalidRange = () => {
  const message = "Expected a start before the end"
  return new InvalidRequest({
    detail: `The body is not valid at /start: ${message}`,
    errors: [{ in: "body", pointer: "/start", message }]
  })
}

export const AutomationHttp = group(
  Api,
  "automation",
  Effect.fnUntraced(function*(handlers) {
    const rules = yield* AutomationRules
    const runner = yield* RuleRunner
    const ledger = yield* RuleLedger
    const windows = yield* DueWindows
    const ids = yield* Ids
    const context = yield* Effect.context<RuleRunner | DueWindows | Ids>()

    const find = (id: string) =>
      ruleId.parse(id).pipe(
        Effect.flatMap(rules.get),
        Effect.catchTag("AutomationRules/RuleMissing", ruleId.missing)
      )

    return handlers
      .handle("listRules", ({ urlParams }) =>
        rules.list(urlParams).pipe(
          Effect.map((page) => ({ ...page, items: page.items.map(withWarnings) })),
          Effect.catchTag("Page/InvalidCursor", invalidCursor)
        ))
      .handle(
        "createRule",
        Effect.fnUntraced(function*({ payload }) {
          const user = yield* CurrentUser
          const id = RuleId.make(yield* ids.uuid)
          const rule = yield* rules.create({ id, draft: payload, by: user.id, at: yield* DateTime.now })
          const answer = yield* Effect.orDie(encodeAnswer(withWarnings(rule)))
          yield* note({ target: id, after: answer, revision: rule.revision })
          return HttpServerResponse.unsafeJson(answer, {
            status: 201,
            headers: { location: `/api/automation/rules/${id}` }
          })
        }),
        { uninterruptible: true }
      )
      .handle("testPreview", ({ payload }) =>
        runner.preview(payload).pipe(
          Effect.map((detected) => ({
            status: "success" as const,
            data: {
              DetectedMacs: detected.rows,
              TotalCount: detected.total,
              Query: detected.query,
              QueryParams: detected.params,
              ExecutionTimeMs: Math.round(detected.elapsedMs)
            }
          })),
          Effect.catchTag("Detections/DetectionFailed", unreachable)
        ))
      .handle("getRule", ({ path }) =>
        find(path.id).pipe(
          Effect.tap(({ revision }) => note({ revision })),
          Effect.map(withWarnings)
        ))
      .handle(
        "updateRule",
        Effect.fnUntraced(function*({ path, payload }) {
          const before = yield* find(path.id)
          const user = yield* CurrentUser
          const change = { draft: payload, by: user.id, at: yield* DateTime.now, expected: yield* expected }
          const rule = withWarnings(
            yield* rules.update(before.id, change).pipe(Effect.catchTags({
              "AutomationRules/RuleMissing": ruleId.missing,
              "Revision/RevisionMismatch": preconditionFailed
            }))
          )
          yield* note({ before: yield* told(before), after: yield* told(rule), revision: rule.revision })
          return rule
        }),
        { uninterruptible: true }
      )
      .handle(
        "deleteRule",
        Effect.fnUntraced(function*({ path }) {
          const before = yield* find(path.id)
          yield* rules.remove(before.id, yield* expected).pipe(Effect.catchTags({
            "AutomationRules/RuleMissing": ruleId.missing,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* note({ before: yield* told(before) })
          return { success: true as const, id: path.id }
        }),
        { uninterruptible: true }
      )
      .handle(
        "runRule",
        Effect.fnUntraced(function*({ path, payload }) {
          const rule = yield* find(path.id)
          const user = yield* CurrentUser
          const { id: requestId } = yield* CurrentRequest
          const data = yield* runner.run(rule, payload, { trigger: "manual", userId: user.id, requestId }).pipe(
            Effect.catchTags({
              "Detections/DetectionFailed": unreachable,
              "RuleRunner/InvalidWindow": invalidWindow,
              "AutomationRules/RuleMissing": ruleId.missing,
              // A run by hand is due for no window.
              "DueWindows/DueLost": Effect.die
            })
          )
          return { data, status: "success" as const }
        }),
        { uninterruptible: true }
      )
      .handle(
        "listRuns",
        ({ path, urlParams }) =>
          Effect.flatMap(find(path.id), (rule) => ledger.runs(rule.id, urlParams)).pipe(
            Effect.map((page) => ({ ...page, items: page.items.map(withVerdict) })),
            Effect.catchTag("Page/InvalidCursor", invalidCursor)
          )
      )
      .handle(
        "listWindows",
        ({ path, urlParams }) =>
          Effect.flatMap(find(path.id), (rule) => windows.list(rule.id, urlParams)).pipe(
            Effect.catchTag("Page/InvalidCursor", invalidCursor)
          )
      )
      .handle(
        "backfillRule",
        Effect.fnUntraced(function*({ path, payload }) {
          if (payload.start >= payload.end) return yield* invalidRange()
          const rule = yield* find(path.id)
          const user = yield* CurrentUser
          const { id: requestId } = yield* CurrentRequest
          return yield* backfill(rule, payload, { userId: user.id, requestId }).pipe(
            Effect.provide(context),
            Effect.catchTags({
              "Detections/DetectionFailed": unreachable,
              "AutomationRules/RuleMissing": ruleId.missing
            })
          )
        })
      )
      .handle("scheduler", () => schedulerStatus.pipe(Effect.provide(context)))
  })
)
