import type { HttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { endpoints } from "../../src/api/Api.ts"
import { tokenByPassword } from "../../src/api/client.ts"
import { type Role, roles } from "../../src/schema/Permission.ts"
import { assertProblem, type Call, call } from "../support/client.ts"
import { Callers, passwordOf } from "../support/testApi.ts"

type Token = Redacted.Redacted

const send = (method: string, path: string, value: unknown, token: Token) =>
  call(method, path, { token, ...(value === undefined ? {} : { body: JSON.stringify(value) }) } satisfies Call)

/** A kind of record that belongs to one user: how its owner makes one, and sees it. */
interface Kind {
  readonly create: (token: Token) => Effect.Effect<string, never, HttpClient.HttpClient | Callers>
  readonly seen: (token: Token, id: string) => Effect.Effect<unknown, never, HttpClient.HttpClient>
  /** Ids that are nobody's, malformed ones too. */
  readonly unknown: ReadonlyArray<string>
  /** Roles that see everybody's. */
  readonly overseers: ReadonlyArray<Role>
}

const uuids = [randomUUID(), "x", "1", "%00", "7D4C1A0E", `${randomUUID()}0`]

const me = (token: Token) => Effect.map(call("GET", "/api/auth/me", { token }), ({ json }) => String(json.id))

const listed = (path: string) => (token: Token, id: string) =>
  Effect.map(call("GET", path, { token }), ({ json }) => {
    const found = (json.items as ReadonlyArray<{ readonly id: string }>).find((item) => item.id === id)
    return found === undefined ? undefined : { ...found, lastSeenAt: undefined, current: undefined }
  })

const restrictionsOf = (token: Token) =>
  Effect.flatMap(me(token), (id) =>
    Effect.map(
      call("GET", `/api/ip-restrictions/user/${id}`, { token }),
      ({ json }) => json.restrictions as Record<string, unknown>
    ))

const kinds = {
  session: {
    create: (token) =>
      Effect.gen(function*() {
        const before = new Set(
          ((yield* call("GET", "/api/auth/sessions", { token })).json.items as ReadonlyArray<any>).map(({ id }) => id)
        )
        const { username } = (yield* call("GET", "/api/auth/me", { token })).json
        const { anonymous } = yield* Callers
        yield* Effect.orDie(tokenByPassword(anonymous, { username, password: passwordOf(username) }))
        const after = (yield* call("GET", "/api/auth/sessions", { token })).json.items as ReadonlyArray<any>
        return after.find(({ id }) => !before.has(id)).id as string
      }),
    seen: listed("/api/auth/sessions"),
    unknown: uuids,
    overseers: []
  },
  token: {
    create: (token) =>
      Effect.map(
        send("POST", "/api/auth/tokens", { name: "mine", scopes: ["dhcp.events:read"] }, token),
        ({ json }) => json.id as string
      ),
    seen: listed("/api/auth/tokens"),
    unknown: uuids,
    overseers: []
  },
  restriction: {
    create: (token) =>
      Effect.map(
        send("POST", "/api/ip-restrictions", { type: "deny", network: "203.0.113.0/24" }, token),
        ({ json }) => json.id as string
      ),
    seen: (token, id) => Effect.map(restrictionsOf(token), (entries) => entries[id]),
    unknown: uuids,
    overseers: ["admin"]
  },
  filter: {
    create: (token) =>
      Effect.map(
        send("POST", "/api/dhcp-filters", { name: "mine", rules: { rules: [] } }, token),
        ({ json }) => json.id as string
      ),
    seen: listed("/api/dhcp-filters"),
    unknown: uuids,
    overseers: []
  },
  restrictionsOfUser: {
    create: me,
    seen: (token) => restrictionsOf(token),
    unknown: ["999999", "x", "0", "-1", "01", "99999999999", "%00"],
    overseers: ["admin"]
  }
} satisfies Record<string, Kind>

/** Operations on records that belong to one user, with a body that the owner may send. */
const owned: Readonly<Record<string, { readonly kind: keyof typeof kinds; readonly body?: unknown }>> = {
  "account.endSession": { kind: "session" },
  "apiTokens.get": { kind: "token" },
  "apiTokens.delete": { kind: "token" },
  "dhcpFilters.get": { kind: "filter" },
  "dhcpFilters.update": { kind: "filter", body: { name: "mine", rules: { rules: [] } } },
  "dhcpFilters.remove": { kind: "filter" },
  "ipRestrictions.ofUser": { kind: "restrictionsOfUser" },
  "ipRestrictions.get": { kind: "restriction" },
  "ipRestrictions.update": { kind: "restriction", body: { enabled: false } },
  "ipRestrictions.remove": { kind: "restriction" }
}

/** Operations on records that are everybody's: a permission alone opens them. */
const shared: ReadonlyArray<string> = [
  "users.get",
  "users.update",
  "automation.getRule",
  "automation.updateRule",
  "automation.deleteRule",
  "automation.runRule",
  "automation.listRuns",
  "automation.listWindows",
  "automation.backfillRule",
  "alarms.get",
  "alarms.acknowledge",
  "alarms.resolve",
  "actions.get",
  "actions.remove",
  "actions.unprotect",
  "bulk.getJob",
  "bulk.listItems",
  "bulk.jobEvents",
  "bulk.cancel",
  "bulk.undo",
  "firewall.getConfig",
  "firewall.updateConfig",
  "firewall.deleteConfig",
  "firewall.listRevisions",
  "firewall.restoreRevision",
  "firewall.restoreConfig",
  "firewall.diffConfig",
  "firewall.exportConfig",
  "firewall.applyConfig",
  "firewall.confirmApply",
  "firewall.extendApply",
  "firewall.rollbackApply",
  "notifications.getRule",
  "notifications.updateRule",
  "notifications.deleteRule",
  "notifications.enableRule",
  "notifications.disableRule",
  "notifications.testRule",
  "notifications.expireSilence",
  "notifications.retryDelivery"
]

/** What has a parameter in its path that names no record. */
const open: ReadonlyArray<string> = ["health.problem"]

/** All of an answer but what is of this one occurrence. */
const anonymously = (
  { headers, status, text }: { headers: Readonly<Record<string, string>>; status: number; text: string }
) => {
  const { "x-request-id": _, ...rest } = headers
  return { status, headers: rest, text: text.replace(/"(instance|requestId)":"[^"]*"/g, "\"$1\":\"\"") }
}

/** That nobody learns of another's records, nor changes them. */
export const objectAccess = (name: string, layer: Layer.Layer<HttpClient.HttpClient | Callers>) =>
  describe(`object access: ${name}`, () => {
    it("every operation on one record is in one of the tables", () => {
      const addressed = endpoints.filter(({ path }) => path.includes(":"))
      assert.deepStrictEqual(
        addressed.map(({ id }) => id).sort(),
        [...Object.keys(owned), ...shared, ...open].sort()
      )
      for (const { id, permission } of addressed) {
        if (shared.includes(id)) assert.isDefined(permission, `${id} asks for no permission`)
        if (id in owned) assert.isUndefined(permission, `${id} is its owner's without a permission`)
      }
    })

    it.layer(layer, { timeout: "60 seconds" })((it) => {
      for (const [id, { body, kind: kindName }] of Object.entries(owned)) {
        it.effect(`${id}: another's record is answered as one that is not there`, () =>
          Effect.gen(function*() {
            const { token } = yield* Callers
            const kind: Kind = kinds[kindName]
            const { method, path } = endpoints.find((endpoint) => endpoint.id === id)!
            const at = (record: string) => path.replace(/:\w+/, record)
            const record = yield* kind.create(token.operator)
            const before = yield* kind.seen(token.operator, record)
            assert.isDefined(before)
            for (const role of roles.filter((role) => role !== "operator" && !kind.overseers.includes(role))) {
              const refused = yield* send(method, at(record), body, token[role])
              assertProblem(refused, 404, "not-found")
              for (const unknown of kind.unknown) {
                const absent = yield* send(method, at(unknown), body, token[role])
                assert.deepStrictEqual(anonymously(absent), anonymously(refused), `${role} ${unknown}`)
              }
            }
            assert.deepStrictEqual(yield* kind.seen(token.operator, record), before)
            assert.strictEqual((yield* send(method, at(record), body, token.operator)).status, 200)
          }))
      }
    })
  })
