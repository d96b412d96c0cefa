import { HttpServerResponse } from "@effect/platform"
import { Effect, Schema } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { Unavailable } from "../../api/problems.ts"
import * as Problems from "../../api/problems/firewall.ts"
import {
  FirewallConfig,
  FirewallConfigId,
  FirewallConfigSummary,
  type RulesetError
} from "../../schema/FirewallConfig.ts"
import { Firewall } from "../../services/Firewall.ts"
import type * as F from "../../services/Firewall.ts"
import { FirewallConfigs, type FirewallRecord, type TableOwned } from "../../services/FirewallConfigs.ts"
import { connection } from "./connection.ts"
import { note } from "./CurrentRequest.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"
import { expected, preconditionFailed } from "./revisions.ts"

const configId = idFrom(FirewallConfigId, "configuration")
const encodeConfig = Schema.encode(FirewallConfig)

const rejected = (prefix: string) => ({ errors }: { readonly errors: ReadonlyArray<RulesetError> }) => {
  const [first] = errors
  const located = errors.map((error) => ({ ...error, pointer: `${prefix}${error.pointer}` }))
  return new Problems.RulesetRejected({
    detail: first === undefined ? "The ruleset was rejected" : `${first.pointer}: ${first.message}`.slice(0, 1000),
    errors: located
  })
}
const unavailable = ({ message }: { readonly message: string }) =>
  new Unavailable({ detail: `The packet filter can't be used at the moment: ${message}` })

const answers = {
  "FirewallConfigs/Missing": configId.missing,
  "Firewall/ApplyPending": ({ deadline }: F.ApplyPending) =>
    new Problems.ApplyPending({ detail: "Confirm the apply or roll it back first", confirm_deadline: deadline }),
  "Firewall/NothingPending": ({ restored }: F.NothingPending) =>
    new Problems.NothingPending({
      detail: restored ? "The time ran out; what ran before is back" : "Nothing waits for a confirmation",
      restored
    }),
  "Firewall/TableForeign": ({ tables }: F.TableForeign) =>
    new Problems.TableForeign({ detail: `Not applied by this service: ${tables.join(", ")}`, tables }),
  "Firewall/VersionConflict": ({ version }: F.VersionConflict) =>
    new Problems.VersionConflict({ detail: `The configuration has version ${version}`, version }),
  "FirewallConfigs/TableOwned": ({ owner, table }: TableOwned) =>
    new Problems.TableOwned({ detail: `${table} belongs to another active configuration`, table, owner }),
  "Nft/Unavailable": unavailable,
  "FirewallGuard/Unavailable": unavailable
} as const

const writing = { uninterruptible: true } as const

/** As it is told to the audit trail, where its checksum stands for the ruleset. */
const summary = (config: FirewallRecord) => Effect.orDie(Schema.encode(FirewallConfigSummary)(config))

const revised = ({ edition }: FirewallRecord) => note({ revision: edition })

const changed = (config: FirewallRecord, before?: FirewallRecord) =>
  Effect.gen(function*() {
    yield* note({ target: config.id, after: yield* summary(config), revision: config.edition })
    if (before !== undefined) yield* note({ before: yield* summary(before) })
  })

export const FirewallHttp = group(
  Api,
  "firewall",
  Effect.fnUntraced(function*(handlers) {
    const firewall = yield* Firewall
    const configs = yield* FirewallConfigs
    const missing = { "FirewallConfigs/Missing": configId.missing }
    const drafted = { ...missing, "Firewall/RulesetRejected": rejected("/ruleset") }
    const asked = {
      ...missing,
      "Firewall/NothingPending": answers["Firewall/NothingPending"],
      "Nft/Unavailable": unavailable,
      "FirewallGuard/Unavailable": unavailable
    }
    const find = (id: string) => Effect.flatMap(configId.parse(id), configs.get)

    return handlers
      .handle(
        "listConfigs",
        ({ urlParams: { include_deleted, ...page } }) =>
          configs.list({ ...page, deleted: include_deleted ?? false }).pipe(
            Effect.catchTag("Page/InvalidCursor", invalidCursor)
          )
      )
      .handle(
        "createConfig",
        Effect.fnUntraced(function*({ payload }) {
          const { id } = yield* CurrentUser
          const config = yield* Effect.catchTag(
            firewall.create(payload, id),
            "Firewall/RulesetRejected",
            rejected("/ruleset")
          )
          yield* changed(config)
          return HttpServerResponse.unsafeJson(yield* Effect.orDie(encodeConfig(config)), {
            status: 201,
            headers: { location: `/api/v1/nftables/configs/${config.id}` }
          })
        }),
        writing
      )
      .handle("getConfig", ({ path }) => find(path.id).pipe(Effect.tap(revised), Effect.catchTags(missing)))
      .handle("updateConfig", ({ path, payload }) =>
        Effect.gen(function*() {
          const before = yield* find(path.id)
          const config = yield* firewall.update(before.id, payload, (yield* CurrentUser).id, yield* expected)
          yield* changed(config, before)
          return config
        }).pipe(Effect.catchTags({ ...drafted, "Revision/RevisionMismatch": preconditionFailed })), writing)
      .handle("deleteConfig", ({ path }) =>
        Effect.gen(function*() {
          const before = yield* find(path.id)
          const { id } = before
          const { deactivated } = yield* firewall.remove(id, yield* expected)
          yield* note({ before: yield* summary(before) })
          return { success: true as const, id, deactivated, is_deleted: 1 as const }
        }).pipe(Effect.catchTags({
          ...missing,
          "Firewall/ApplyPending": answers["Firewall/ApplyPending"],
          "Revision/RevisionMismatch": preconditionFailed,
          "Nft/Unavailable": unavailable,
          "FirewallGuard/Unavailable": unavailable
        })), writing)
      .handle("listRevisions", ({ path }) =>
        configId.parse(path.id).pipe(
          Effect.flatMap(configs.revisions),
          Effect.map((items) => ({ items, total: items.length, next: null })),
          Effect.catchTags(missing)
        ))
      .handle("restoreRevision", ({ path }) =>
        Effect.gen(function*() {
          const id = yield* configId.parse(path.id)
          const { description, name, ruleset } = yield* configs.revision(id, path.n)
          const draft = { name, description, ruleset, comment: `Version ${path.n} again` }
          return yield* firewall.update(id, draft, (yield* CurrentUser).id)
        }).pipe(
          Effect.tap((config) => changed(config)),
          // No revision is expected here.
          Effect.catchTags({ ...drafted, "Revision/RevisionMismatch": Effect.die })
        ), writing)
      .handle("restoreConfig", ({ path }) =>
        configId.parse(path.id).pipe(
          Effect.tap((id) => configs.setDeleted(id, false)),
          Effect.flatMap(configs.get),
          Effect.tap((config) => changed(config)),
          Effect.catchTags(missing)
        ), writing)
      .handle("diffConfig", ({ path }) =>
        Effect.flatMap(configId.parse(path.id), firewall.diff).pipe(
          Effect.catchTags({ ...missing, "Nft/Unavailable": unavailable })
        ))
      .handle("exportConfig", ({ path }) =>
        Effect.flatMap(configId.parse(path.id), firewall.exported).pipe(
          Effect.catchTags({ ...missing, "Firewall/RulesetRejected": rejected(""), "Nft/Unavailable": unavailable })
        ))
      .handle("ruleset", () =>
        firewall.running.pipe(
          Effect.map(({ drift, foreign, nftables }) => ({
            nftables,
            configs: drift.map(({ diff, ...config }) => ({ ...config, drifted: !diff.identical, drift: diff })),
            foreign_tables: foreign
          })),
          Effect.catchTag("Nft/Unavailable", unavailable)
        ))
      .handle(
        "validate",
        ({ payload }) =>
          connection.pipe(
            Effect.flatMap((caller) =>
              firewall.validate(payload.ruleset ?? { nftables: payload.nftables ?? [] }, caller)
            ),
            Effect.catchTag("Nft/Unavailable", unavailable)
          )
      )
      .handle("applyConfig", ({ path, payload }) =>
        Effect.gen(function*() {
          const id = yield* configId.parse(path.id)
          const { config, diff, previousRevision, revision } = yield* firewall.apply(id, {
            confirmSeconds: payload.confirm_timeout_seconds,
            comment: payload.comment,
            expectedVersion: payload.expected_version,
            adopt: payload.adopt ?? false
          })
          return {
            success: true as const,
            config_id: id,
            status: config.status,
            revision,
            previous_revision: previousRevision,
            applied_at: config.applied_at,
            confirm_deadline: config.confirm_deadline,
            diff
          }
        }).pipe(Effect.catchTags({
          "Firewall/RulesetRejected": rejected(""),
          "FirewallConfigs/Missing": answers["FirewallConfigs/Missing"],
          "Firewall/ApplyPending": answers["Firewall/ApplyPending"],
          "Firewall/TableForeign": answers["Firewall/TableForeign"],
          "Firewall/VersionConflict": answers["Firewall/VersionConflict"],
          "FirewallConfigs/TableOwned": answers["FirewallConfigs/TableOwned"],
          "Nft/Unavailable": unavailable,
          "FirewallGuard/Unavailable": unavailable
        })), writing)
      .handle(
        "confirmApply",
        ({ path }) =>
          Effect.flatMap(configId.parse(path.id), firewall.confirm).pipe(Effect.tap(revised), Effect.catchTags(asked)),
        writing
      )
      .handle(
        "extendApply",
        ({ path, payload }) =>
          Effect.flatMap(configId.parse(path.id), (id) => firewall.extend(id, payload.seconds)).pipe(
            Effect.tap(revised),
            Effect.catchTags(asked)
          ),
        writing
      )
      .handle(
        "rollbackApply",
        ({ path }) =>
          Effect.flatMap(configId.parse(path.id), firewall.rollback).pipe(Effect.tap(revised), Effect.catchTags(asked)),
        writing
      )
  })
)
