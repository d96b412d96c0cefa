import { Config, Context, Data, DateTime, Effect, Layer, Option, Redacted, Schema } from "effect"
import { type ChannelError, type LogPipelineDraft, LogPipelineSecrets } from "../schema/LogPipeline.ts"
import type { ServiceEvent } from "../schema/ServiceEvent.ts"
import type { UserId } from "../schema/User.ts"
import {
  type AppliedChannel,
  type ChannelTarget,
  LogPipelineChannel,
  LogPipelineTransport,
  type SendFailed
} from "./LogPipelineChannel.ts"
import { keptSecrets, putSecrets, takeSecrets } from "./notify/channelSecrets.ts"
import { recordOf } from "./notify/records.ts"
import { isAddress, isPublicAddress, targetOf } from "./notify/targets.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"
import { Secrets } from "./Secrets.ts"

export interface ChannelViolation {
  readonly pointer: string
  readonly message: string
}

/** The configuration can't be applied; the one before stays. */
export class ChannelRejected extends Data.TaggedError("LogPipeline/Rejected")<{
  readonly violations: ReadonlyArray<ChannelViolation>
}> {}

/** No configuration was applied yet. */
export class ChannelMissing extends Data.TaggedError("LogPipeline/Missing")<{}> {}

/** Whether channels may lead to private and loopback addresses: `NETOPS_ALLOW_PRIVATE_TARGETS`, by default they may not. */
export const allowPrivateTargets = Config.boolean("NETOPS_ALLOW_PRIVATE_TARGETS").pipe(Config.withDefault(false))

/** What seals the secrets of the channel. */
export const channelContext = "notification-channel:log-pipeline"

const encodeSecrets = Schema.encodeSync(Schema.parseJson(LogPipelineSecrets))
const decodeSecrets = Schema.decodeUnknown(Schema.parseJson(LogPipelineSecrets))

/** What is wrong with a draft by itself. */
export const violationsOf = (draft: LogPipelineDraft, allowPrivate: boolean): ReadonlyArray<ChannelViolation> => {
  const violations: Array<ChannelViolation> = []
  const refuse = (pointer: string, message: string) => void violations.push({ pointer, message })
  const target = targetOf(draft.type, draft.uri)
  if (typeof target === "string") refuse("/uri", target)
  else if (!allowPrivate && isAddress(target.host) && !isPublicAddress(target.host)) {
    refuse("/uri", "Expected a public address: private and loopback targets need NETOPS_ALLOW_PRIVATE_TARGETS")
  }
  if ((draft.tls.crt_file === undefined) !== (draft.tls.key_file === undefined)) {
    refuse("/tls", "Expected crt_file and key_file together")
  }
  if (draft.type === "syslog") {
    if (draft.auth.strategy !== "none") refuse("/auth", "syslog has no authentication but the certificates of TLS")
    if (draft.compression !== "none") refuse("/compression", "syslog is not compressed")
    if (Object.keys(draft.request.headers).length > 0) refuse("/request/headers", "syslog has no headers")
  }
  return violations
}

/** The log-pipeline channel as users see it. */
export class LogPipeline extends Context.Tag("services/LogPipeline")<
  LogPipeline,
  {
    /** Validates, connects, and swaps for all nodes at once; a refusal leaves the channel as it is and is remembered. */
    readonly apply: (
      draft: LogPipelineDraft,
      by: UserId,
      expected: Expected
    ) => Effect.Effect<AppliedChannel, ChannelRejected | RevisionMismatch>
    /** Sends one event at once, past rules and outbox. */
    readonly test: (event: ServiceEvent, rule: { readonly id: string; readonly name: string }) => Effect.Effect<
      { readonly deliveryId: string },
      ChannelMissing | SendFailed
    >
    /** The applied configuration with its secrets, where there is one. */
    readonly target: Effect.Effect<Option.Option<ChannelTarget & { readonly revision: number }>>
  }
>() {}

const schemaOrigin = (draft: Pick<LogPipelineDraft, "type" | "uri">) => {
  const target = targetOf(draft.type, draft.uri)
  return typeof target === "string" ? target : `${target.scheme} ${target.host} ${target.port}`
}

export const LogPipelineLive = Layer.effect(
  LogPipeline,
  Effect.gen(function*() {
    const channel = yield* LogPipelineChannel
    const transport = yield* LogPipelineTransport
    const secretsPort = yield* Secrets
    const allowPrivate = yield* allowPrivateTargets

    const open = ({ sealedSecrets }: AppliedChannel) =>
      secretsPort.open(sealedSecrets, channelContext).pipe(
        Effect.flatMap((text) => decodeSecrets(Redacted.value(text))),
        Effect.orDie
      )

    const target = Effect.gen(function*() {
      const current = yield* channel.current
      if (Option.isNone(current)) return Option.none()
      const { revision, settings } = current.value
      const secrets = yield* open(current.value)
      return Option.some({ revision, settings: putSecrets(settings, secrets), secrets })
    })

    /** The secrets of a draft; those it keeps go nowhere but where they went before. */
    const complete = Effect.fnUntraced(function*(draft: LogPipelineDraft, before: Option.Option<AppliedChannel>) {
      const { secrets, settings } = takeSecrets(draft)
      const kept = keptSecrets(secrets)
      if (kept.length === 0) return { secrets, settings }
      const stored = Option.isSome(before) ? yield* open(before.value) : {}
      const same = Option.isSome(before) && schemaOrigin(before.value.settings) === schemaOrigin(draft)
      const violations = kept.filter((path) => !same || stored[path] === undefined).map((path) => ({
        pointer: `/${path.replaceAll(".", "/")}`,
        message: same ? "No such secret is stored" : "The secret has to be given anew where the target changes"
      }))
      if (violations.length > 0) return yield* new ChannelRejected({ violations })
      return { settings, secrets: { ...secrets, ...Object.fromEntries(kept.map((path) => [path, stored[path]!])) } }
    })

    const judge = Effect.fnUntraced(function*(draft: LogPipelineDraft, before: Option.Option<AppliedChannel>) {
      const violations = violationsOf(draft, allowPrivate)
      if (violations.length > 0) return yield* new ChannelRejected({ violations })
      const { secrets, settings } = yield* complete(draft, before)
      if (draft.enabled) {
        yield* transport.probe({ settings: putSecrets(settings, secrets), secrets }).pipe(
          Effect.mapError(({ message }) => new ChannelRejected({ violations: [{ pointer: "/uri", message }] }))
        )
      }
      return { settings, secrets }
    })

    const noteError = (kind: ChannelError["kind"]) => (message: string) =>
      Effect.flatMap(DateTime.now, (at) => channel.noteError({ at, kind, message }))

    return LogPipeline.of({
      apply: Effect.fn("LogPipeline.apply")(function*(draft, by, expected) {
        const { secrets, settings } = yield* Effect.flatMap(channel.current, (before) => judge(draft, before)).pipe(
          Effect.tapError(({ violations }) =>
            noteError("reload")(violations.map(({ message, pointer }) => `${pointer}: ${message}`).join("; "))
          )
        )
        const sealedSecrets = yield* secretsPort.seal(Redacted.make(encodeSecrets(secrets)), channelContext)
        return yield* channel.apply({ settings, sealedSecrets, by, at: yield* DateTime.now, expected })
      }),
      test: Effect.fn("LogPipeline.test")(function*(event, rule) {
        const found = yield* target
        if (Option.isNone(found)) return yield* new ChannelMissing()
        const deliveryId = event.id
        yield* Effect.scoped(Effect.flatMap(
          transport.open(found.value),
          (pipe) =>
            pipe.send([recordOf(event, {
              delivery_id: deliveryId,
              rule_id: rule.id,
              rule_name: rule.name,
              group: {},
              reason: "new",
              state: "event",
              sequence: 1
            })])
        ))
        return { deliveryId }
      }),
      target
    })
  })
)
