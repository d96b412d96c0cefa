import { HttpServerResponse } from "@effect/platform"
import { DateTime, Effect, Option, Schema, Struct } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { SilenceAnswer } from "../../api/groups/NotificationsApi.ts"
import {
  ChannelNotConfigured,
  ChannelRejected,
  ChannelUnreachable,
  DeliveryDone,
  SilenceOver
} from "../../api/problems/notifications.ts"
import { DeliveryId } from "../../schema/Delivery.ts"
import { NotificationRule, NotificationRuleId, type Silence, SilenceId } from "../../schema/NotificationRule.ts"
import { serviceEvent } from "../../schema/ServiceEvent.ts"
import { Ids } from "../../services/Ids.ts"
import { type ChannelRejected as Rejection, LogPipeline } from "../../services/LogPipeline.ts"
import { LogPipelineChannel, type SendFailed } from "../../services/LogPipelineChannel.ts"
import { NotificationRules, Silences } from "../../services/NotificationRules.ts"
import { preview } from "../../services/notify/preview.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { ServiceEvents } from "../../services/ServiceEvents.ts"
import { note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { hiddenFrom } from "./eventTypesHidden.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { expected, preconditionFailed } from "./revisions.ts"

const ruleId = idFrom(NotificationRuleId, "notification rule")
const silenceId = idFrom(SilenceId, "silence")
const deliveryId = idFrom(DeliveryId, "delivery")
const encodeRule = Schema.encodeSync(NotificationRule)
const encodeSilence = Schema.encodeSync(SilenceAnswer)

const rejected = ({ violations }: Rejection) =>
  new ChannelRejected({
    detail: `The channel stays as it is: ${
      violations.map(({ message, pointer }) => `${pointer}: ${message}`).join("; ")
    }`,
    errors: violations.map((violation) => ({ in: "body" as const, ...violation }))
  })
const unreachable = ({ message }: SendFailed) => new ChannelUnreachable({ detail: message })
const notConfigured = () => new ChannelNotConfigured({ detail: "The log-pipeline channel was never configured" })

const withStatus = (silence: Silence, now: DateTime.Utc) => ({
  ...silence,
  status: DateTime.lessThanOrEqualTo(silence.ends_at, now)
    ? "expired" as const
    : DateTime.greaterThan(silence.starts_at, now)
    ? "pending" as const
    : "active" as const
})

export const NotificationsHttp = group(
  Api,
  "notifications",
  Effect.fnUntraced(function*(handlers) {
    const rules = yield* NotificationRules
    const silences = yield* Silences
    const outbox = yield* Outbox
    const channel = yield* LogPipelineChannel
    const pipeline = yield* LogPipeline
    const ids = yield* Ids
    const context = yield* Effect.context<ServiceEvents | Silences>()

    const find = (id: string) =>
      ruleId.parse(id).pipe(
        Effect.flatMap(rules.get),
        Effect.catchTag("NotificationRules/Missing", ruleId.missing)
      )

    const change = Effect.fnUntraced(
      function*(id: string, edit: (rule: NotificationRule) => Partial<NotificationRule>) {
        const before = yield* find(id)
        const { id: by } = yield* CurrentUser
        const draft = Struct.omit(before, "id", "revision", "created_by", "updated_by", "created_at", "updated_at")
        const rule = yield* rules.update(before.id, {
          draft: { ...draft, ...edit(before) },
          by,
          at: yield* DateTime.now,
          expected: yield* expected
        }).pipe(Effect.catchTags({
          "NotificationRules/Missing": ruleId.missing,
          "Revision/RevisionMismatch": preconditionFailed
        }))
        yield* note({ before: encodeRule(before), after: encodeRule(rule), revision: rule.revision })
        return rule
      }
    )

    const turn = (enabled: boolean) => ({ path }: { readonly path: { readonly id: string } }) =>
      Effect.map(change(path.id, () => ({ enabled })), ({ id, name }) => ({
        id,
        enabled,
        status: "success" as const,
        message: `The notification rule ${name} is ${enabled ? "enabled" : "disabled"}`
      }))

    const test = Effect.fnUntraced(function*(rule: { readonly id: string; readonly name: string }) {
      const event = serviceEvent(yield* ids.uuid, {
        type: "notification.test",
        subject: rule.id === "" ? "channel/log-pipeline" : `notification-rule/${rule.id}`,
        severity: "info",
        time: yield* DateTime.now,
        data: { message: "This is a test." }
      })
      yield* pipeline.test(event, rule).pipe(
        Effect.catchTags({ "LogPipeline/Missing": notConfigured, "LogPipeline/SendFailed": unreachable })
      )
      return { success: true as const, event_id: event.id, message: "The pipeline took the test event" }
    })

    return handlers
      .handle(
        "listRules",
        ({ urlParams }) => rules.list(urlParams).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
      )
      .handle(
        "createRule",
        Effect.fnUntraced(function*({ payload }) {
          const { id: by } = yield* CurrentUser
          const id = NotificationRuleId.make(yield* ids.uuid)
          const rule = yield* rules.create(id, { draft: payload, by, at: yield* DateTime.now })
          const answer = encodeRule(rule)
          yield* note({ target: id, after: answer, revision: rule.revision })
          return HttpServerResponse.unsafeJson(answer, {
            status: 201,
            headers: { location: `/api/notifications/rules/${id}` }
          })
        })
      )
      .handle("getRule", ({ path }) => Effect.tap(find(path.id), ({ revision }) => note({ revision })))
      .handle("updateRule", ({ path, payload }) => change(path.id, () => ({ matchers: undefined, ...payload })))
      .handle(
        "deleteRule",
        Effect.fnUntraced(function*({ path }) {
          const before = yield* find(path.id)
          yield* rules.remove(before.id, yield* expected).pipe(Effect.catchTags({
            "NotificationRules/Missing": ruleId.missing,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* note({ before: encodeRule(before) })
          return { message: `The notification rule ${before.name} is deleted`, status: "success" as const }
        })
      )
      .handle("enableRule", turn(true))
      .handle("disableRule", turn(false))
      .handle("testRule", ({ path }) => Effect.flatMap(find(path.id), test))
      .handle(
        "preview",
        ({ payload }) =>
          Effect.flatMap(CurrentUser, (user) => preview(payload, hiddenFrom(user))).pipe(Effect.provide(context))
      )
      .handle(
        "listSilences",
        Effect.fnUntraced(function*({ urlParams }) {
          const now = yield* DateTime.now
          const page = yield* silences.list(urlParams).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
          return { ...page, items: page.items.map((silence) => withStatus(silence, now)) }
        })
      )
      .handle(
        "createSilence",
        Effect.fnUntraced(function*({ payload: { comment, ends_at, matchers, starts_at } }) {
          const now = yield* DateTime.now
          const begin = starts_at ?? now
          if (DateTime.lessThanOrEqualTo(ends_at, DateTime.max(begin, now))) {
            return yield* new SilenceOver({ detail: "Expected ends_at after starts_at and in the future" })
          }
          const { id: created_by } = yield* CurrentUser
          const id = SilenceId.make(yield* ids.uuid)
          const silence = yield* silences.create({
            id,
            matchers,
            comment,
            starts_at: begin,
            ends_at,
            created_by,
            created_at: now
          })
          const answer = encodeSilence(withStatus(silence, now))
          yield* note({ target: id, after: answer })
          return HttpServerResponse.unsafeJson(answer, {
            status: 201,
            headers: { location: `/api/notifications/silences/${id}` }
          })
        })
      )
      .handle(
        "expireSilence",
        Effect.fnUntraced(function*({ path }) {
          const now = yield* DateTime.now
          const before = yield* Effect.flatMap(silenceId.parse(path.id), silences.get).pipe(
            Effect.catchTag("Silences/Missing", silenceId.missing)
          )
          const after = yield* silences.expire(before.id, now).pipe(
            Effect.catchTag("Silences/Missing", silenceId.missing)
          )
          yield* note({ before: encodeSilence(withStatus(before, now)), after: encodeSilence(withStatus(after, now)) })
          return { success: true as const, id: before.id }
        })
      )
      .handle(
        "getChannel",
        Effect.fnUntraced(function*() {
          const current = Option.getOrUndefined(yield* channel.current)
          const revision = current?.revision ?? 0
          yield* note({ revision })
          return {
            configured: current !== undefined,
            config: current?.settings ?? null,
            revision,
            applied_at: current?.appliedAt ?? null,
            last_error: yield* channel.lastError,
            ...yield* outbox.counts
          }
        })
      )
      .handle(
        "updateChannel",
        Effect.fnUntraced(function*({ payload }) {
          const { id: by } = yield* CurrentUser
          const before = Option.getOrNull(yield* channel.current)?.settings ?? null
          const applied = yield* pipeline.apply(payload, by, yield* expected).pipe(Effect.catchTags({
            "LogPipeline/Rejected": rejected,
            "Revision/RevisionMismatch": preconditionFailed
          }))
          yield* note({ target: "log-pipeline", before, after: applied.settings, revision: applied.revision })
          return {
            message: `The log pipeline goes to ${applied.settings.uri} as of revision ${applied.revision}`,
            status: "success" as const
          }
        })
      )
      .handle("testChannel", () => test({ id: "", name: "" }))
      .handle(
        "listDeliveries",
        Effect.fnUntraced(function*({ urlParams }) {
          const hidden = hiddenFrom(yield* CurrentUser)
          return yield* outbox.list({ ...urlParams, hidden }).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor))
        })
      )
      .handle("retryDelivery", ({ path }) =>
        Effect.gen(function*() {
          const id = yield* deliveryId.parse(path.id)
          return yield* outbox.retry(id, yield* DateTime.now)
        }).pipe(Effect.catchTags({
          "Outbox/DeliveryMissing": deliveryId.missing,
          "Outbox/DeliveryDone": () => new DeliveryDone({ detail: "The delivery has arrived already" })
        })))
  })
)
