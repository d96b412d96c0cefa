import { type EventType, eventTypes } from "../../schema/ServiceEvent.ts"
import type { User } from "../../schema/User.ts"

/** Types of events that a user may not see: who signs in from where is for those who read the audit trail. */
export const hiddenFrom = ({ permissions }: User): ReadonlyArray<EventType> =>
  permissions.includes("audit:read") ? [] : eventTypes.filter((type) => type.startsWith("auth."))
