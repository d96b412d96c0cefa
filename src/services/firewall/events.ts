import { DateTime } from "effect"
import type { EventDraft, EventType } from "../../schema/ServiceEvent.ts"
import type { Applied, FirewallStanding, FirewallState } from "../FirewallConfigs.ts"

type Transition = Extract<
  EventType,
  | "nft.config.applied"
  | "nft.config.confirmed"
  | "nft.config.rolled_back"
  | "nft.config.failed"
  | "nft.config.deactivated"
>

const severityOf = {
  "nft.config.applied": "info",
  "nft.config.confirmed": "info",
  "nft.config.rolled_back": "warning",
  "nft.config.failed": "critical",
  "nft.config.deactivated": "info"
} as const

const isSame = (a: Applied, b: Applied): boolean =>
  a.version === b.version && (a.at === b.at || (a.at !== null && b.at !== null && DateTime.Equivalence(a.at, b.at)))

const transitionOf = (before: FirewallState, after: FirewallState): Transition | undefined => {
  if (after.status === "failed") return before.status === "failed" ? undefined : "nft.config.failed"
  if (before.pending !== null && after.pending === null) {
    return isSame(before.applied, after.applied) ? "nft.config.confirmed" : "nft.config.rolled_back"
  }
  if (after.status === "inactive") return before.status === "inactive" ? undefined : "nft.config.deactivated"
  return isSame(before.applied, after.applied) || after.applied.version === null ? undefined : "nft.config.applied"
}

/** What the service tells when the state of a configuration is taken down. */
export const firewallEvents = (
  before: FirewallStanding,
  after: FirewallState,
  at: DateTime.Utc
): ReadonlyArray<EventDraft> => {
  const type = transitionOf(before, after)
  if (type === undefined) return []
  const { applied, pending } = type === "nft.config.deactivated" ? before : after
  return [{
    type,
    subject: `nft/${before.id}`,
    severity: severityOf[type],
    time: at,
    data: {
      config_id: before.id,
      config_name: before.name,
      version: applied.version,
      tables: applied.tables,
      confirm_deadline: pending === null ? null : DateTime.formatIso(pending.deadline)
    }
  }]
}
