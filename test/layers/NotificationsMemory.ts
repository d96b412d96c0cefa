import { DateTime, Effect, Layer, Option, Schema } from "effect"
import type { ChannelError } from "../../src/schema/LogPipeline.ts"
import {
  type NotificationRule,
  NotificationRuleDraft,
  type NotificationRuleId,
  type Silence,
  type SilenceId
} from "../../src/schema/NotificationRule.ts"
import type { AppliedChannel } from "../../src/services/LogPipelineChannel.ts"
import {
  LogPipelineChannel,
  LogPipelineTransport,
  type PipelineRecord,
  SendFailed
} from "../../src/services/LogPipelineChannel.ts"
import {
  NotificationRuleMissing,
  NotificationRules,
  SilenceMissing,
  Silences
} from "../../src/services/NotificationRules.ts"
import { type Expected, isExpected, RevisionMismatch } from "../../src/services/Revision.ts"
import { newestOf } from "./AutomationState.ts"

// Drafts pass through JSON as on their way to a database.
const Stored = Schema.parseJson(NotificationRuleDraft)
const stored = (draft: NotificationRuleDraft) => Schema.decodeSync(Stored)(Schema.encodeSync(Stored)(draft))

export const NotificationRulesMemory = Layer.sync(NotificationRules, () => {
  const rules = new Map<NotificationRuleId, NotificationRule>()
  const find = (id: NotificationRuleId) =>
    Effect.suspend(() => {
      const rule = rules.get(id)
      return rule === undefined ? Effect.fail(new NotificationRuleMissing({ id })) : Effect.succeed(rule)
    })
  const findExpected = (id: NotificationRuleId, expected: Expected) =>
    Effect.filterOrFail(
      find(id),
      ({ revision }) => isExpected(expected, revision),
      ({ revision }) => new RevisionMismatch({ revision })
    )
  const save = (rule: NotificationRule) => {
    rules.set(rule.id, rule)
    return rule
  }
  return NotificationRules.of({
    create: (id, { at, by, draft }) =>
      Effect.sync(() =>
        save({ ...stored(draft), id, revision: 1, created_by: by, updated_by: by, created_at: at, updated_at: at })
      ),
    get: find,
    list: (request) =>
      Effect.suspend(() => newestOf(rules.values(), request, ({ created_at, id }) => ({ at: created_at, id }))),
    enabled: Effect.sync(() =>
      [...rules.values()].filter(({ enabled }) => enabled).sort((a, b) => a.id < b.id ? -1 : 1)
    ),
    update: (id, { at, by, draft, expected }) =>
      Effect.map(findExpected(id, expected), ({ created_at, created_by, revision }) =>
        save({
          ...stored(draft),
          id,
          revision: revision + 1,
          created_by,
          updated_by: by,
          created_at,
          updated_at: at
        })),
    remove: (id, expected) => Effect.map(findExpected(id, expected), () => void rules.delete(id))
  })
})

export const SilencesMemory = Layer.sync(Silences, () => {
  const silences = new Map<SilenceId, Silence>()
  const find = (id: SilenceId) =>
    Effect.suspend(() => {
      const silence = silences.get(id)
      return silence === undefined ? Effect.fail(new SilenceMissing({ id })) : Effect.succeed(silence)
    })
  return Silences.of({
    create: (silence) => Effect.sync(() => (silences.set(silence.id, silence), silence)),
    get: find,
    list: (request) =>
      Effect.suspend(() => newestOf(silences.values(), request, ({ created_at, id }) => ({ at: created_at, id }))),
    active: (at) =>
      Effect.sync(() =>
        [...silences.values()].filter(({ ends_at, starts_at }) =>
          DateTime.lessThanOrEqualTo(starts_at, at) && DateTime.greaterThan(ends_at, at)
        ).sort((a, b) => a.id < b.id ? -1 : 1)
      ),
    expire: (id, at) =>
      Effect.map(find(id), (silence) => {
        const over = {
          ...silence,
          starts_at: DateTime.min(silence.starts_at, at),
          ends_at: DateTime.min(silence.ends_at, at)
        }
        silences.set(id, over)
        return over
      })
  })
})

export const LogPipelineChannelMemory = Layer.sync(LogPipelineChannel, () => {
  let applied: AppliedChannel | undefined
  let lastError: ChannelError | null = null
  return LogPipelineChannel.of({
    current: Effect.sync(() => Option.fromNullable(applied)),
    apply: ({ at, expected, sealedSecrets, settings }) =>
      Effect.suspend(() => {
        const revision = applied?.revision ?? 0
        if (!isExpected(expected, revision)) return Effect.fail(new RevisionMismatch({ revision }))
        lastError = null
        applied = { revision: revision + 1, settings, sealedSecrets, appliedAt: at }
        return Effect.succeed(applied)
      }),
    lastError: Effect.sync(() => lastError),
    noteError: (error) => Effect.sync(() => void (lastError = error))
  })
})

/** What arrived, by the host that it was sent to; `down.example` takes nothing and `picky.example` no two at once. */
export const arrived: Array<{ readonly uri: string; readonly records: ReadonlyArray<PipelineRecord> }> = []

const fails = (uri: string) => uri.includes("down.example")

/** A network on which all hosts take everything but those named above. */
export const LogPipelineTransportMemory = Layer.succeed(
  LogPipelineTransport,
  LogPipelineTransport.of({
    probe: ({ settings }) =>
      fails(settings.uri) ? new SendFailed({ scope: "channel", message: "down.example: ECONNREFUSED" }) : Effect.void,
    open: ({ settings }) =>
      Effect.succeed({
        send: (records) =>
          Effect.suspend(() => {
            if (fails(settings.uri)) return new SendFailed({ scope: "channel", message: "down.example: ECONNREFUSED" })
            if (settings.uri.includes("picky.example") && records.some(({ json }) => json.includes("poison"))) {
              return new SendFailed({ scope: "record", message: "picky.example answered 422" })
            }
            arrived.push({ uri: settings.uri, records })
            return Effect.void
          })
      })
  })
)
