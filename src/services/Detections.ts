import { Context, Data, type Effect } from "effect"
import type { Detector } from "../schema/AutomationRule.ts"
import type { DetectedMac, Window } from "../schema/Detection.ts"

/** The evaluation failed: the store could not be reached, or it refused or gave up the query (`message` says why). */
export class DetectionFailed extends Data.TaggedError("Detections/DetectionFailed")<{
  readonly reason: "unreachable" | "failed"
  readonly message: string
}> {}

export interface Detected {
  /** At most `max_detections` clients, those with most requests first. */
  readonly rows: ReadonlyArray<DetectedMac>
  /** How many clients match in all. */
  readonly total: number
  /** The SQL that ran, and the values bound to its parameters. */
  readonly query: string
  readonly params: Readonly<Record<string, unknown>>
  /** Milliseconds, as the store reports them. */
  readonly elapsedMs: number
}

/** Which clients a rule detects in a window of the observed events. */
export class Detections extends Context.Tag("services/Detections")<
  Detections,
  {
    /** Clients named in `except` (by MAC or DUID) are left out: those in cooldown. */
    readonly detect: (
      rule: Detector,
      window: Window,
      except: ReadonlyArray<string>
    ) => Effect.Effect<Detected, DetectionFailed>
    /** The same evaluation over these clients alone. */
    readonly detectOnly: (
      rule: Detector,
      window: Window,
      clients: ReadonlyArray<string>
    ) => Effect.Effect<Detected, DetectionFailed>
  }
>() {}
