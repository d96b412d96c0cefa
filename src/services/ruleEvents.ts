import type { DateTime } from "effect"
import { clientOfDetection, type DetectedMac } from "../schema/Detection.ts"
import type { RuleRun } from "../schema/RuleRun.ts"
import type { EventDraft, EventSeverity } from "../schema/ServiceEvent.ts"

/** What of a rule its events name. */
export interface RuleLabel {
  readonly id: string
  readonly name: string
  readonly severity: EventSeverity
}

/** An event for each client that an enforcing run took. */
export const detectionEvents = (
  rule: RuleLabel,
  run: string,
  at: DateTime.Utc,
  taken: ReadonlyArray<DetectedMac>
): ReadonlyArray<EventDraft> =>
  taken.map((detection) => {
    const client = clientOfDetection(detection)
    return {
      type: "automation.mac.detected",
      subject: `client/${client}`,
      severity: rule.severity,
      time: at,
      data: {
        rule_id: rule.id,
        rule_name: rule.name,
        run_id: run,
        client,
        protocol: detection.Protocol,
        total_requests: detection.TotalRequests,
        unique_ips: detection.UniqueIPs
      }
    }
  })

/** An event for a run that failed, none for any other. */
export const runEvents = (rule: RuleLabel, run: RuleRun): ReadonlyArray<EventDraft> =>
  run.status !== "failed" ? [] : [{
    type: "automation.rule.failed",
    subject: `rule/${rule.id}`,
    severity: "warning",
    time: run.finished_at,
    data: { rule_id: rule.id, rule_name: rule.name, run_id: run.id, error: run.error }
  }]
