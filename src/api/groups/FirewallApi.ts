import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import {
  FirewallConfig,
  FirewallConfigSummary,
  FirewallDiff,
  FirewallDraft,
  FirewallRevision,
  rulesetBytesMax
} from "../../schema/FirewallConfig.ts"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Authentication } from "../Auth.ts"
import {
  body,
  bodyLimit,
  freeBody,
  optionalBody,
  path,
  plainBodies,
  query,
  requires,
  traits,
  unaudited
} from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused, PreconditionFailed } from "../problems/access.ts"
import {
  ApplyPending,
  NothingPending,
  RulesetRejected,
  TableForeign,
  TableOwned,
  VersionConflict
} from "../problems/firewall.ts"
import { ApplyAnswer, ConfigDeleted, RunningRuleset, Validation } from "./FirewallAnswers.ts"
import { ApplyBody, ExtendBody, ValidationRequest } from "./FirewallRequests.ts"

const root = "/api/v1/nftables" as const
const configs = `${root}/configs` as const
const configPath = path({ id: Schema.String })
const revisionPath = path({ id: Schema.String, n: Schema.NumberFromString.pipe(Schema.int(), Schema.positive()) })
const read = requires("nftables.configs:read")
const write = Context.merge(requires("nftables.configs:write"), plainBodies)
const apply = Context.merge(requires("nftables.configs:apply"), plainBodies)
const large = bodyLimit(rulesetBytesMax)

/** An operation that decides about an apply which waits for its confirmation. */
const decision = <const Name extends string>(name: Name, verb: string, summary: string) =>
  HttpApiEndpoint.post(name, `${configs}/:id/${verb}`)
    .setPath(configPath)
    .setPayload(freeBody(Schema.Struct({})))
    .addSuccess(FirewallConfig)
    .addError(wire(NotFound))
    .addError(wire(NothingPending))
    .addError(wire(IdempotencyInFlight))
    .addError(wire(IdempotencyKeyReused))
    .annotate(OpenApi.Summary, summary)
    .annotateContext(optionalBody)
    .annotateContext(traits("idempotent", "versioned"))
    .annotateContext(apply)

export class FirewallApi extends HttpApiGroup.make("firewall")
  .add(
    HttpApiEndpoint.get("listConfigs", configs)
      .setUrlParams(query({
        ...PageQuery,
        include_deleted: Schema.optional(Schema.BooleanFromString)
      }))
      .addSuccess(PageOf(FirewallConfigSummary))
      .annotate(OpenApi.Summary, "List configurations")
      .annotate(OpenApi.Description, "Newest first, without their rulesets.")
      .annotateContext(read)
  )
  .add(
    HttpApiEndpoint.post("createConfig", configs)
      .setPayload(body(FirewallDraft))
      .addSuccess(FirewallConfig, { status: 201 })
      .addError(wire(RulesetRejected))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Save a configuration as a draft")
      .annotateContext(traits("idempotent", "atomic", "versioned"))
      .annotateContext(write)
      .annotateContext(large)
  )
  .add(
    HttpApiEndpoint.get("getConfig", `${configs}/:id`)
      .setPath(configPath)
      .addSuccess(FirewallConfig)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read a configuration")
      .annotate(OpenApi.Description, "Deleted ones too.")
      .annotateContext(traits("versioned"))
      .annotateContext(read)
  )
  .add(
    HttpApiEndpoint.put("updateConfig", `${configs}/:id`)
      .setPath(configPath)
      .setPayload(body(FirewallDraft))
      .addSuccess(FirewallConfig)
      .addError(wire(NotFound))
      .addError(wire(RulesetRejected))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Save the next version of a configuration")
      .annotate(OpenApi.Description, "What runs stays as it is until the version is applied.")
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(write)
      .annotateContext(large)
  )
  .add(
    HttpApiEndpoint.del("deleteConfig", `${configs}/:id`)
      .setPath(configPath)
      .addSuccess(ConfigDeleted)
      .addError(wire(NotFound))
      .addError(wire(ApplyPending))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Delete a configuration")
      .annotate(OpenApi.Description, "An active one is deactivated first: its tables go. The record is kept.")
      .annotateContext(traits("versioned"))
      .annotateContext(apply)
  )
  .add(
    HttpApiEndpoint.get("listRevisions", `${configs}/:id/revisions`)
      .setPath(configPath)
      .addSuccess(Schema.Struct({ items: Schema.Array(FirewallRevision), total: Schema.Int, next: Schema.Null }))
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "List the versions of a configuration")
      .annotate(OpenApi.Description, "Newest first.")
      .annotateContext(read)
  )
  .add(
    HttpApiEndpoint.post("restoreRevision", `${configs}/:id/revisions/:n/restore`)
      .setPath(revisionPath)
      .setPayload(freeBody(Schema.Struct({})))
      .addSuccess(FirewallConfig)
      .addError(wire(NotFound))
      .addError(wire(RulesetRejected))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Save an old version as the next one")
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent", "atomic", "versioned"))
      .annotateContext(write)
  )
  .add(
    HttpApiEndpoint.post("restoreConfig", `${configs}/:id/restore`)
      .setPath(configPath)
      .setPayload(freeBody(Schema.Struct({})))
      .addSuccess(FirewallConfig)
      .addError(wire(NotFound))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Bring a deleted configuration back")
      .annotate(OpenApi.Description, "It is inactive until it is applied again.")
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent", "atomic", "versioned"))
      .annotateContext(write)
  )
  .add(
    HttpApiEndpoint.get("diffConfig", `${configs}/:id/diff`)
      .setPath(configPath)
      .addSuccess(FirewallDiff)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Compare a configuration with what runs")
      .annotateContext(read)
  )
  .add(
    HttpApiEndpoint.get("exportConfig", `${configs}/:id/export`)
      .setPath(configPath)
      .addSuccess(HttpApiSchema.Text({ contentType: "text/plain" }))
      .addError(wire(NotFound))
      .addError(wire(RulesetRejected))
      .annotate(OpenApi.Summary, "Read a configuration in nft's own language")
      .annotate(OpenApi.Description, "nft writes it, after the ruleset ran in a namespace of its own.")
      .annotateContext(read)
  )
  .add(
    HttpApiEndpoint.get("ruleset", `${root}/ruleset`)
      .addSuccess(RunningRuleset)
      .annotate(OpenApi.Summary, "Read what runs, and where it drifted")
      .annotateContext(read)
  )
  .add(
    HttpApiEndpoint.post("validate", `${root}/config/validate`)
      .setPayload(freeBody(ValidationRequest))
      .addSuccess(Validation)
      .annotate(OpenApi.Summary, "Validate a ruleset")
      .annotate(
        OpenApi.Description,
        "Takes `{ruleset}` or libnftables JSON as nft lists it. What this service refuses comes first; then nft itself judges the transaction that an apply would send, without committing it."
      )
      .annotateContext(requires("nftables.configs:validate"))
      .annotateContext(unaudited)
      .annotateContext(large)
  )
  .add(
    HttpApiEndpoint.post("applyConfig", `${configs}/:id/apply`)
      .setPath(configPath)
      .setPayload(body(ApplyBody))
      .addSuccess(ApplyAnswer)
      .addError(wire(NotFound))
      .addError(wire(RulesetRejected))
      .addError(wire(TableOwned))
      .addError(wire(TableForeign))
      .addError(wire(ApplyPending))
      .addError(wire(VersionConflict))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Apply a configuration")
      .annotate(
        OpenApi.Description,
        "One nft transaction replaces the tables of this configuration and touches nothing else. With a timeout, a guard outside of this process brings the tables from before back at the deadline unless the apply is confirmed."
      )
      .annotateContext(optionalBody)
      .annotateContext(traits("idempotent"))
      .annotateContext(apply)
  )
  .add(decision("confirmApply", "confirm", "Keep what was applied"))
  .add(
    HttpApiEndpoint.post("extendApply", `${configs}/:id/extend`)
      .setPath(configPath)
      .setPayload(body(ExtendBody))
      .addSuccess(FirewallConfig)
      .addError(wire(NotFound))
      .addError(wire(NothingPending))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Move the deadline of an apply to so many seconds from now")
      .annotateContext(traits("idempotent", "versioned"))
      .annotateContext(apply)
  )
  .add(decision("rollbackApply", "rollback", "Take back what was applied and isn't confirmed"))
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Firewall", description: "nftables configurations of this host." }))
{}
