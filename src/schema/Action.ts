import { Schema } from "effect"

export const actionTypes = ["block", "quarantine", "allow", "tag"] as const
export const ActionType = Schema.Literal(...actionTypes).annotations({
  description: "block: no packet passes; quarantine: only DHCP, DNS and allowed services; allow: exempt from both; tag"
})
export type ActionType = typeof ActionType.Type

export const Tag = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/, {
    message: () => "Expected 1 to 64 of the characters A-Z a-z 0-9 . _ : / -"
  })
)

/** Longest time for which an action can be ordered, in minutes (one year). */
export const durationMinutesMax = 525_600

const ActionSpecFields = Schema.Struct({
  type: ActionType,
  duration_minutes: Schema.optional(Schema.Int.pipe(Schema.between(1, durationMinutesMax))),
  tag: Schema.optional(Tag)
})

const ActionSpecObject = ActionSpecFields.pipe(
  Schema.filter((action) => {
    if ((action.type === "tag") === (action.tag !== undefined)) return true
    const message = action.type === "tag" ? "Expected a tag: the type is tag" : "Only the type tag takes a tag"
    return { path: ["tag"], message }
  })
)

/** What to do with a client; the bare type is accepted for `{type}`. */
export const ActionSpec = Schema.transform(
  Schema.Union(ActionSpecFields, ActionType),
  Schema.typeSchema(ActionSpecObject),
  {
    strict: true,
    decode: (action) => typeof action === "string" ? { type: action } : action,
    encode: (action) => action
  }
).annotations({ identifier: "ActionSpec" })
export type ActionSpec = typeof ActionSpec.Type

export const ActionId = Schema.UUID.pipe(Schema.brand("ActionId"))
export type ActionId = typeof ActionId.Type

/** Who or what ordered an action. */
export const ActionOrigin = Schema.Struct({
  kind: Schema.Literal("user", "rule_run", "bulk_job"),
  id: Schema.String.annotations({ description: "id of the user, run or job" })
})
export type ActionOrigin = typeof ActionOrigin.Type

/** A decision about one client, the desired state that the packet filter is made equal to. */
export class Action extends Schema.Class<Action>("Action")({
  id: ActionId,
  type: ActionType,
  tag: Schema.NullOr(Schema.String),
  client: Schema.String.annotations({ description: "MAC of the client, or its DUID where it has none" }),
  client_mac: Schema.NullOr(Schema.String),
  status: Schema.Literal("active", "expired", "removed"),
  reason: Schema.String,
  origin: ActionOrigin,
  created_at: Schema.DateTimeUtc,
  expires_at: Schema.NullOr(Schema.DateTimeUtc),
  ended_at: Schema.NullOr(Schema.DateTimeUtc),
  synced_at: Schema.NullOr(Schema.DateTimeUtc).annotations({
    description: "when the packet filter was made equal to it; null while it is not"
  }),
  enforced_at: Schema.Array(Schema.Literal("inet", "bridge")).annotations({
    description: "tables of the packet filter that stop the client: inet sees what is routed or meant for this host, " +
      "bridge what it bridges. A DHCP server on this host that reads from raw sockets sees the client before either"
  })
}) {}
