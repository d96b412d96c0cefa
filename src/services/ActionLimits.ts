import { Context } from "effect"

/** How many blocks may begin in an hour unless configured otherwise. */
export const blocksPerHourDefault = 1000

/** What the installation allows: MACs that are never blocked or quarantined, and new blocks in any hour. */
export class ActionLimits extends Context.Reference<ActionLimits>()("services/ActionLimits", {
  defaultValue: (): { readonly protectedMacs: ReadonlySet<string>; readonly blocksPerHour: number } => ({
    protectedMacs: new Set(),
    blocksPerHour: blocksPerHourDefault
  })
}) {}
