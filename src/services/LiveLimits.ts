import { Context, Duration } from "effect"

/** Bounds and rhythms of live streams; each node keeps them for its own streams. */
export interface Limits {
  /** Streams of one user. */
  readonly perUser: number
  /** Items that wait for one client. */
  readonly queue: number
  /** Events that wait for the node's reader; the oldest of more are left out. */
  readonly backlog: number
  readonly heartbeat: Duration.Duration
  /** How often is looked for what other nodes stored. */
  readonly poll: Duration.Duration
  /** How often is looked whether streams may go on, and whether their filters have changed. */
  readonly check: Duration.Duration
}

export class LiveLimits extends Context.Reference<LiveLimits>()("services/LiveLimits", {
  defaultValue: (): Limits => ({
    perUser: 10,
    queue: 2000,
    backlog: 200_000,
    heartbeat: Duration.seconds(15),
    poll: Duration.millis(200),
    check: Duration.millis(500)
  })
}) {}
