import { Schema } from "effect"
import { redacted } from "./Redaction.ts"
import { EventSeverity, EventTypeName } from "./ServiceEvent.ts"

const printable = (max: number) =>
  Schema.String.pipe(
    Schema.filter((text) =>
      (text.length >= 1 && text.length <= max && /^[^\p{C}]+$/u.test(text)) || `Expected 1 to ${max} characters`
    )
  )
const secret = (max: number) =>
  Schema.String.pipe(
    Schema.filter((text) =>
      (text.length >= 1 && text.length <= max && !/[\0\p{Cs}]/u.test(text)) || `Expected 1 to ${max} characters`
    )
  ).annotations({
    description: `write-only: answered as ${redacted}, which sent back keeps what is stored`
  })
const pem = secret(65_536).pipe(
  Schema.filter((text) =>
    text === redacted || text.includes("-----BEGIN ") || "Expected PEM text, not the path of a file"
  )
)
const whole = (least: number, most: number, fallback: number) =>
  Schema.optionalWith(Schema.Int.pipe(Schema.between(least, most)), { default: () => fallback })
const flag = (fallback: boolean) => Schema.optionalWith(Schema.Boolean, { default: () => fallback })
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/
const headerValue = /^[\t\x20-\x7e]{1,4096}$/

/** Headers that the transport sets itself. */
export const ownHeaders = [
  "content-type",
  "content-encoding",
  "content-length",
  "transfer-encoding",
  "host",
  "connection",
  "authorization",
  "upgrade",
  "expect",
  "te",
  "trailer"
]

const Headers = Schema.Record({ key: Schema.String, value: Schema.String }).pipe(
  Schema.filter((headers) => {
    const entries = Object.entries(headers)
    if (entries.length > 50) return "Expected at most 50 headers"
    for (const [name, value] of entries) {
      if (!headerName.test(name) || ownHeaders.includes(name.toLowerCase())) {
        return `${JSON.stringify(name.slice(0, 100))} is no header that can be set`
      }
      if (!headerValue.test(value)) return `The value of ${name} is no header value`
    }
    return true
  })
).annotations({ description: "values are write-only" })

export const ChannelAuth = Schema.Union(
  Schema.Struct({ strategy: Schema.Literal("none") }),
  Schema.Struct({
    strategy: Schema.Literal("basic"),
    user: printable(200).pipe(
      Schema.filter((user) => !user.includes(":") || "Expected no colon, which ends the user in RFC 7617")
    ),
    password: secret(1000)
  }),
  Schema.Struct({
    strategy: Schema.Literal("bearer"),
    token: secret(4096).pipe(Schema.pattern(/^[\x21-\x7e]+$/, { message: () => "Expected visible ASCII characters" }))
  })
)

const Tls = Schema.Struct({
  verify_certificate: flag(true),
  verify_hostname: flag(true),
  ca_file: Schema.optional(pem.annotations({ description: "PEM text of certificates to trust beside the usual ones" })),
  crt_file: Schema.optional(pem.annotations({ description: "PEM text of the client's certificate" })),
  key_file: Schema.optional(pem.annotations({ description: "PEM text of its key; write-only" })),
  key_pass: Schema.optional(secret(1000))
})
const Batch = Schema.Struct({
  max_events: whole(1, 1000, 100),
  max_bytes: whole(1024, 10_000_000, 1_000_000),
  timeout_secs: Schema.optionalWith(Schema.Number.pipe(Schema.between(0, 300)), { default: () => 1 }).annotations({
    description: "how long records wait for a batch to fill"
  })
})
const Request = Schema.Struct({
  timeout_secs: Schema.optionalWith(Schema.Number.pipe(Schema.between(1, 60)), { default: () => 10 }),
  retry_attempts: whole(1, 10, 10).annotations({ description: "tries after which a record is dead" }),
  headers: Schema.optionalWith(Headers, { default: () => ({}) })
})

const defaulted = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(schema, { default: () => Schema.decodeUnknownSync(schema)({}) })

/** What a user states of the log-pipeline channel; names are those of Vector's sinks. */
export const LogPipelineDraft = Schema.Struct({
  enabled: flag(true),
  type: Schema.Literal("http", "syslog"),
  uri: printable(2000).annotations({
    description:
      "`http://` or `https://` for http; `tcp://host:port` or `tls://host:port` (RFC 5424, octet counting) for syslog"
  }),
  encoding: defaulted(
    Schema.Struct({
      codec: Schema.optionalWith(Schema.Literal("json", "ndjson"), { default: () => "ndjson" as const })
    })
  ),
  compression: Schema.optionalWith(Schema.Literal("none", "gzip"), { default: () => "none" as const }),
  auth: Schema.optionalWith(ChannelAuth, { default: () => ({ strategy: "none" as const }) }),
  tls: defaulted(Tls),
  batch: defaulted(Batch),
  request: defaulted(Request),
  min_severity: Schema.optionalWith(EventSeverity, { default: () => "info" as const }),
  event_types: Schema.optionalWith(Schema.Array(EventTypeName), { default: () => [] })
})
export type LogPipelineDraft = typeof LogPipelineDraft.Type

/** The same with every field, as it is kept and answered: secrets are replaced. */
export const LogPipelineSettings = Schema.typeSchema(LogPipelineDraft)
export type LogPipelineSettings = typeof LogPipelineSettings.Type

/** The secrets of a channel, by the path of the field that they belong in. */
export const LogPipelineSecrets = Schema.Record({ key: Schema.String, value: Schema.String })
export type LogPipelineSecrets = typeof LogPipelineSecrets.Type

export const ChannelError = Schema.Struct({
  at: Schema.DateTimeUtc,
  kind: Schema.Literal("reload", "delivery"),
  message: Schema.String
})
export type ChannelError = typeof ChannelError.Type

/** The channel as it is applied. */
export const LogPipelineStatus = Schema.Struct({
  configured: Schema.Boolean,
  config: Schema.NullOr(LogPipelineSettings),
  revision: Schema.Int.annotations({ description: "0 where none was applied yet" }),
  applied_at: Schema.NullOr(Schema.DateTimeUtc),
  last_error: Schema.NullOr(ChannelError),
  queued: Schema.NonNegativeInt,
  delivered: Schema.NonNegativeInt,
  dead: Schema.NonNegativeInt.annotations({ description: "given up after so many tries" }),
  dropped: Schema.NonNegativeInt.annotations({ description: "pushed out of a full outbox" })
}).annotations({ identifier: "LogPipelineStatus" })
