import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Ip } from "../../schema/Ip.ts"
import { IpRestriction, IpRestrictionDraft, IpRestrictionId } from "../../schema/IpRestriction.ts"
import { UserId } from "../../schema/User.ts"
import { Authentication } from "../Auth.ts"
import { body, path, query, traits, unaudited } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import {
  IdempotencyInFlight,
  IdempotencyKeyReused,
  PreconditionFailed,
  RestrictionLimit,
  SelfLockout
} from "../problems/access.ts"
import { Deleted } from "./AutomationApi.ts"

const force = Schema.optionalWith(
  Schema.Boolean.annotations({ description: "also where it refuses the caller's own address" }),
  { default: () => false }
)

const restrictions = "/api/ip-restrictions" as const
const restrictionPath = path({ id: Schema.String })

export class IpRestrictionsApi extends HttpApiGroup.make("ipRestrictions")
  .add(
    HttpApiEndpoint.post("create", restrictions)
      .setPayload(body(Schema.Struct({
        ...IpRestrictionDraft.fields,
        user_id: Schema.optional(UserId.annotations({ description: "the caller unless given" })),
        force
      })))
      .addSuccess(IpRestriction, { status: 201 })
      .addError(wire(NotFound))
      .addError(wire(SelfLockout))
      .addError(wire(RestrictionLimit))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Add an IP restriction")
      .annotateContext(traits("idempotent", "atomic", "versioned"))
  )
  .add(
    HttpApiEndpoint.post("check", `${restrictions}/check`)
      .setPayload(body(Schema.Struct({ user_id: UserId, ip: Ip })))
      .addSuccess(
        Schema.Struct({
          user_id: UserId,
          ip: Schema.String,
          allowed: Schema.Boolean,
          matched: Schema.NullOr(IpRestrictionId)
        })
          .annotations({ identifier: "IpCheck" })
      )
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Tell whether a user may use the service from an address")
      .annotate(OpenApi.Description, "Nothing is counted. `matched` is the entry that decides.")
      .annotateContext(unaudited)
  )
  .add(
    HttpApiEndpoint.get("ofUser", `${restrictions}/user/:id`)
      .setPath(path({ id: Schema.String }))
      .addSuccess(
        Schema.Struct({
          count: Schema.Int,
          restrictions: Schema.Record({ key: Schema.String, value: IpRestriction }),
          user_id: UserId
        }).annotations({ identifier: "UserIpRestrictions" })
      )
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "List the IP restrictions of a user")
      .annotate(
        OpenApi.Description,
        "`restrictions` is keyed by entry id. Another user's need `ip_restrictions:manage`."
      )
  )
  .add(
    HttpApiEndpoint.get("get", `${restrictions}/:id`)
      .setPath(restrictionPath)
      .addSuccess(IpRestriction)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read an IP restriction")
      .annotate(OpenApi.Description, "Its ETag counts changes, not matches.")
      .annotateContext(traits("versioned"))
  )
  .add(
    HttpApiEndpoint.patch("update", `${restrictions}/:id`)
      .setPath(restrictionPath)
      .setPayload(body(Schema.Struct({ enabled: Schema.Boolean, force })))
      .addSuccess(IpRestriction)
      .addError(wire(NotFound))
      .addError(wire(SelfLockout))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Enable or disable an IP restriction")
      .annotateContext(traits("atomic", "versioned"))
  )
  .add(
    HttpApiEndpoint.del("remove", `${restrictions}/:id`)
      .setPath(restrictionPath)
      .setUrlParams(query({ force: Schema.optional(Schema.Literal("true", "false")) }))
      .addSuccess(Deleted)
      .addError(wire(NotFound))
      .addError(wire(SelfLockout))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Delete an IP restriction")
      .annotateContext(traits("atomic", "versioned"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({
    title: "IP restrictions",
    description: "Networks from which a user may, or may not, sign in and use the service."
  }))
{}
