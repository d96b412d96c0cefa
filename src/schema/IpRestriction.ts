import { DateTime, Schema } from "effect"
import { Cidr, inRange, ipOctets, type IpRange, parseCidr } from "./Ip.ts"
import { UserId } from "./User.ts"

export const IpRestrictionId = Schema.UUID.pipe(Schema.brand("IpRestrictionId"))
export type IpRestrictionId = typeof IpRestrictionId.Type

/** Most entries that one user can have. */
export const restrictionsMax = 200

const drafted = {
  type: Schema.Literal("allow", "deny").annotations({
    description: "deny refuses; once any allow is in force, only addresses of an allow are admitted"
  }),
  network: Cidr
}

const description = Schema.String.pipe(
  Schema.pattern(/^[^\p{C}]{0,200}$/u, { message: () => "Expected at most 200 characters" })
)
const priority = Schema.Int.pipe(Schema.between(0, 10_000)).annotations({
  description: "of two entries of one type that match, the lower is the one that counts the match"
})

/** What a user states of an entry. */
export const IpRestrictionDraft = Schema.Struct({
  ...drafted,
  description: Schema.optionalWith(description, { default: () => "" }),
  enabled: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  priority: Schema.optionalWith(priority, { default: () => 100 }),
  expires_at: Schema.optionalWith(Schema.NullOr(Schema.DateTimeUtc), { default: () => null })
})
export type IpRestrictionDraft = typeof IpRestrictionDraft.Type

/** One network from which a user may, or may not, use the service. */
export const IpRestriction = Schema.Struct({
  id: IpRestrictionId,
  user_id: UserId,
  ...drafted,
  description,
  enabled: Schema.Boolean,
  priority,
  expires_at: Schema.NullOr(Schema.DateTimeUtc),
  created_by: UserId,
  created_at: Schema.DateTimeUtc,
  updated_at: Schema.DateTimeUtc,
  last_matched_at: Schema.NullOr(Schema.DateTimeUtc).annotations({ description: "written some seconds late" }),
  match_count: Schema.NonNegativeInt.annotations({ description: "requests that this entry decided" })
}).annotations({ identifier: "IpRestriction" })
export type IpRestriction = typeof IpRestriction.Type

/** What of an entry decides. */
export type Rule = Pick<IpRestriction, "id" | "type" | "network" | "enabled" | "priority" | "expires_at">

/** `matched` is the entry that decided; null where an address is admitted or refused for lack of a match. */
export interface Verdict {
  readonly allowed: boolean
  readonly matched: IpRestrictionId | null
}

const ranges = new WeakMap<Rule, IpRange>()

const rangeOf = (rule: Rule): IpRange => {
  const known = ranges.get(rule)
  if (known !== undefined) return known
  const parsed = parseCidr(rule.network)!
  ranges.set(rule, parsed)
  return parsed
}

const inForce = (rule: Rule, now: DateTime.Utc): boolean =>
  rule.enabled && (rule.expires_at === null || DateTime.greaterThan(rule.expires_at, now))

/**
 * Whether the entries of one user admit an address: no deny may match, and where any allow is in force one of them
 * must. An address that isn't known matches nothing.
 */
export const evaluate = (rules: Iterable<Rule>, address: string | undefined, now: DateTime.Utc): Verdict => {
  const octets = address === undefined ? undefined : ipOctets(address)
  let allows = false
  let deny: Rule | undefined
  let allow: Rule | undefined
  for (const rule of rules) {
    if (!inForce(rule, now)) continue
    if (rule.type === "allow") allows = true
    if (octets === undefined || !inRange(rangeOf(rule), octets)) continue
    const best = rule.type === "deny" ? deny : allow
    const wins = best === undefined || rule.priority < best.priority ||
      (rule.priority === best.priority && rule.id < best.id)
    if (!wins) continue
    if (rule.type === "deny") deny = rule
    else allow = rule
  }
  if (deny !== undefined) return { allowed: false, matched: deny.id }
  return allows ? { allowed: allow !== undefined, matched: allow?.id ?? null } : { allowed: true, matched: null }
}
