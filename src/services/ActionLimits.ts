import { Context } from "effect"

/** How many blocks may begin in an hour unless configured otherwise. */
export const blocksPerHourDefault = 1000

/** How many clients one bulk job may act on unless configured otherwise. */
export const bulkMaxDefault = 10_000

/** What the installation allows: MACs that are never blocked or quarantined, new blocks in any hour, clients of a job. */
export class ActionLimits extends Context.Reference<ActionLimits>()("services/ActionLimits", {
  defaultValue: (): {
    readonly protectedMacs: ReadonlySet<string>
    readonly blocksPerHour: number
    readonly bulkMax: number
  } => ({
    protectedMacs: new Set(),
    blocksPerHour: blocksPerHourDefault,
    bulkMax: bulkMaxDefault
  })
}) {}
