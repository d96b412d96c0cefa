import type { HttpClient } from "@effect/platform"
import { assert } from "@effect/vitest"
import { DateTime, Effect, type Redacted } from "effect"
import { call } from "../support/client.ts"
import { beginning } from "../support/testApi.ts"

type Token = Redacted.Redacted
type Made<A> = (token: Token) => Effect.Effect<A, never, HttpClient.HttpClient>

export const send = (
  method: string,
  path: string,
  value: unknown,
  token: Token,
  headers: Record<string, string> = {}
) => call(method, path, { token, headers, ...(value === undefined ? {} : { body: JSON.stringify(value) }) })

export const times = (count: number) => Array.from({ length: count }, (_, index) => index)

const created = (path: string, value: unknown) => (token: Token) =>
  Effect.map(send("POST", path, value, token), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.headers["location"]!
  })

const rules = "/api/automation/rules"
const configs = "/api/v1/nftables/configs"
const restrictions = "/api/ip-restrictions"

const rule = { name: "busy", threshold: { min_requests: 1 } }
const restriction = { type: "deny", network: "203.0.113.0/24" }
// Its keys are named as secrets often are: they are nft's own language, and come back as they were sent.
const configOf = (table: string) => ({
  name: "edge",
  ruleset: {
    nftables: [
      { add: { table: { family: "inet", name: table } } },
      { add: { chain: { family: "inet", table, name: "in", type: "filter", hook: "input", prio: 0 } } },
      {
        add: {
          rule: {
            family: "inet",
            table,
            chain: "in",
            expr: [{ match: { op: "==", left: { meta: { key: "iifname" } }, right: "lo" } }, { accept: null }]
          }
        }
      }
    ]
  }
})
const config = configOf("fw")

let count = 0

const aRule = created(rules, rule)
const aConfig: Made<string> = (token) => created(configs, configOf(`fw${count++}`))(token)
const aRestriction = created(restrictions, restriction)
const aUser: Made<string> = (token) =>
  created("/api/users", { username: `user${count++}`, role: "viewer", password: "correct horse battery" })(token)

const pending: Made<string> = (token) =>
  Effect.tap(aConfig(token), (path) => send("POST", `${path}/apply`, { confirm_timeout_seconds: 600 }, token))

const deleted: Made<string> = (token) => Effect.tap(aConfig(token), (path) => send("DELETE", path, undefined, token))

const client = "02:bd:00:00:00:01"

const observed = (token: Token) =>
  call("POST", "/api/dhcp/events", {
    token,
    headers: { "content-type": "application/x-ndjson" },
    body: JSON.stringify({
      event_time: DateTime.formatIso(DateTime.subtract(beginning, { minutes: 1 })),
      protocol: "dhcpv4",
      message_type: "discover",
      client_mac: client
    })
  })

const alarm: Made<string> = (token) =>
  Effect.gen(function*() {
    yield* observed(token)
    yield* send("POST", `${yield* aRule(token)}/run`, {}, token)
    const { items } = (yield* call("GET", "/api/automation/alarms", { token })).json
    return `/api/automation/alarms/${items[0].id}`
  })

const order = (mac: string) => ({ type: "tag", tag: "seen", client: mac, reason: "why" })

const bulk = "/api/actions/bulk"
const choice = { action: { type: "tag", tag: "seen" }, criteria: { macs: [client] } }

/** What carries out a bulk action, as a preview allows it. */
const execution = (reason: string): Made<unknown> => (token) =>
  Effect.gen(function*() {
    yield* observed(token)
    const { criteria_hash } = (yield* send("POST", `${bulk}/preview`, choice, token)).json
    return { ...choice, criteria_hash, reason }
  })

const aJob: Made<string> = (token) =>
  Effect.gen(function*() {
    const { json } = yield* send("POST", `${bulk}/execute`, yield* execution("why")(token), token)
    return `${bulk}/jobs/${json.id}`
  })

const aCancelledJob: Made<string> = (token) =>
  Effect.tap(aJob(token), (path) => send("POST", `${path}/cancel`, {}, token))

const notifications = "/api/notifications"
const notification = { name: "alarms", event_types: ["alarm.opened"] }
const silence = {
  matchers: { rules: [{ field: "client", op: "eq", value: "02:bd:00:00:00:01" }] },
  comment: "work on it",
  ends_at: "2096-02-03T00:00:00Z"
}
const aNotification = created(`${notifications}/rules`, notification)

const channel = `${notifications}/channels/log-pipeline`
const channelAt = (uri: string) => ({ type: "http", uri })
const aChannel: Made<string> = (token) =>
  Effect.as(send("PUT", channel, channelAt("https://one.example/"), token), channel)

const filters = "/api/dhcp-filters"
const filter = { name: "lab", rules: { rules: [{ field: "client_mac", op: "oui", value: "02:bd:00" }] } }
const aFilter = created(filters, filter)

/** A POST: where it goes, what it sends, and another body that it takes as well. */
interface Post {
  readonly path: Made<string>
  readonly body: unknown
  readonly other: unknown
}

export const made = (value: unknown, token: Token) =>
  typeof value === "function" ? (value as Made<unknown>)(token) : Effect.succeed(value)

const fixed = (path: string): Made<string> => () => Effect.succeed(path)
const below = (made: Made<string>, rest: string): Made<string> => (token) =>
  Effect.map(made(token), (path) => path + rest)

/** Every POST that honours `Idempotency-Key`. */
export const idempotent: Readonly<Record<string, Post>> = {
  "users.create": {
    path: fixed("/api/users"),
    body: { username: "retry", role: "viewer", password: "correct horse battery" },
    other: { username: "other", role: "viewer", password: "correct horse battery" }
  },
  "automation.createRule": { path: fixed(rules), body: rule, other: { ...rule, name: "other" } },
  "automation.runRule": { path: below(aRule, "/run"), body: {}, other: { dry_run: true } },
  "automation.backfillRule": {
    path: below(aRule, "/backfill"),
    body: { start: "2096-01-01T00:00:00Z", end: "2096-01-02T00:00:00Z" },
    other: { start: "2096-01-01T00:00:00Z", end: "2096-01-03T00:00:00Z" }
  },
  "alarms.acknowledge": { path: below(alarm, "/acknowledge"), body: {}, other: { comment: "mine" } },
  "alarms.resolve": { path: below(alarm, "/resolve"), body: {}, other: { comment: "gone" } },
  "actions.create": {
    path: fixed("/api/actions"),
    body: order("02:bd:00:00:00:11"),
    other: order("02:bd:00:00:00:12")
  },
  "actions.protect": {
    path: fixed("/api/actions/protected"),
    body: { mac: "02:bd:00:00:00:13" },
    other: { mac: "02:bd:00:00:00:14" }
  },
  "actions.cleanup": { path: fixed("/api/actions/sync/cleanup"), body: {}, other: { dry_run: true } },
  "bulk.execute": { path: fixed(`${bulk}/execute`), body: execution("why"), other: execution("another") },
  "bulk.cancel": { path: below(aJob, "/cancel"), body: {}, other: { why: "so" } },
  "bulk.undo": { path: below(aCancelledJob, "/undo"), body: {}, other: { reason: "another" } },
  "firewall.createConfig": { path: fixed(configs), body: config, other: { ...config, name: "other" } },
  "firewall.restoreRevision": { path: below(aConfig, "/revisions/1/restore"), body: {}, other: { why: "so" } },
  "firewall.restoreConfig": { path: below(deleted, "/restore"), body: {}, other: { why: "so" } },
  "firewall.applyConfig": { path: below(aConfig, "/apply"), body: {}, other: { comment: "again" } },
  "firewall.confirmApply": { path: below(pending, "/confirm"), body: {}, other: { why: "so" } },
  "firewall.extendApply": { path: below(pending, "/extend"), body: { seconds: 900 }, other: { seconds: 901 } },
  "firewall.rollbackApply": { path: below(pending, "/rollback"), body: {}, other: { why: "so" } },
  "ipRestrictions.create": { path: fixed(restrictions), body: restriction, other: { ...restriction, enabled: false } },
  "dhcpFilters.create": { path: fixed(filters), body: filter, other: { ...filter, name: "other" } },
  "notifications.createRule": {
    path: fixed(`${notifications}/rules`),
    body: notification,
    other: { ...notification, name: "other" }
  },
  "notifications.createSilence": {
    path: fixed(`${notifications}/silences`),
    body: silence,
    other: { ...silence, comment: "other work" }
  },
  "feedback.submit": {
    path: fixed("/api/feedback"),
    body: { category: "bug", message: "it broke" },
    other: { category: "bug", message: "it broke again" }
  }
}

/** Every other POST outside of `/api/auth`, where answers hold secrets and nothing is remembered; and why. */
export const repeatable: Readonly<Record<string, string>> = {
  "automation.testPreview": "changes nothing",
  "bulk.preview": "changes nothing",
  "firewall.validate": "changes nothing",
  "ipRestrictions.check": "changes nothing",
  "dhcpFilters.validate": "changes nothing",
  "notifications.preview": "changes nothing",
  "notifications.testRule": "each sends a trial of its own",
  "notifications.testChannel": "each sends a trial of its own",
  "notifications.retryDelivery": "what waits already only goes on waiting",
  "notifications.enableRule": "what is on stays on",
  "notifications.disableRule": "what is off stays off",
  "dhcpEvents.ingest": "takes the key by itself: the events of a stream that comes again are stored once",
  "firewallEvents.ingest": "takes the key by itself: the events of a stream that comes again are stored once"
}

/** Every write to a record that has an `ETag`, with what it sends. */
export const conditional: Readonly<Record<string, { readonly path: Made<string>; readonly body?: unknown }>> = {
  "users.update": { path: aUser, body: { role: "auditor" } },
  "automation.updateRule": { path: aRule, body: { ...rule, name: "next" } },
  "automation.deleteRule": { path: aRule },
  "firewall.updateConfig": { path: aConfig, body: { ...config, name: "next" } },
  "firewall.deleteConfig": { path: aConfig },
  "ipRestrictions.update": { path: aRestriction, body: { enabled: false } },
  "ipRestrictions.remove": { path: aRestriction },
  "dhcpFilters.update": { path: aFilter, body: { ...filter, name: "next" } },
  "dhcpFilters.remove": { path: aFilter },
  "notifications.updateRule": { path: aNotification, body: { ...notification, name: "next" } },
  "notifications.deleteRule": { path: aNotification },
  "notifications.updateChannel": { path: aChannel, body: channelAt("https://next.example/") },
  "user.updateSettings": { path: fixed("/api/user/settings"), body: { theme: "dark" } }
}

/** POSTs that honour `If-Match` as the writes to their record do. */
export const switches: ReadonlyArray<string> = ["notifications.enableRule", "notifications.disableRule"]

/** Every other PUT, PATCH and DELETE, and why. */
export const unconditional: Readonly<Record<string, string>> = {
  "account.endSession": "a session is never changed, only ended",
  "account.disableMfa": "no record: it takes a fresh code",
  "actions.remove": "an order is never edited, only lifted",
  "actions.removeAll": "no record: what is in force, whatever it is",
  "actions.unprotect": "an entry is never changed, only removed",
  "notifications.expireSilence": "a silence is never changed, only ended",
  "apiTokens.delete": "a token is never changed, only deleted",
  "retention.change": "no record: limits of single tables, each named in the request, whose sizes change by themselves"
}
