import { Effect } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { Readiness } from "../../services/Readiness.ts"
import { Retention } from "../../services/Retention.ts"
import { schedulerStatus } from "../../services/schedulerStatus.ts"

/** One metric with its samples: the text between the braces, and the value. */
interface Gauge {
  readonly name: string
  readonly help: string
  readonly samples: ReadonlyArray<readonly [labels: string, value: number]>
}

const checks = Effect.map(Effect.flatMap(Readiness, ({ check }) => check), (found): ReadonlyArray<Gauge> => [{
  name: "netops_check_ok",
  help: "1 where what /health/ready checks answers, else 0",
  samples: Object.entries(found).map(([name, { ok }]) => [`check="${name}"`, ok ? 1 : 0] as const)
}])

const deliveries = Effect.map(
  Effect.flatMap(Outbox, ({ counts }) => counts),
  ({ dead, dropped, queued }): ReadonlyArray<Gauge> => [
    {
      name: "netops_deliveries",
      help: "Notifications that wait, and those that were given up",
      samples: [["state=\"queued\"", queued], ["state=\"dead\"", dead]]
    },
    {
      name: "netops_deliveries_dropped",
      help: "Notifications that were dropped because too many waited",
      samples: [["", dropped]]
    }
  ]
)

const scheduler = Effect.map(schedulerStatus, ({ lag_ms, leader }): ReadonlyArray<Gauge> => [
  {
    name: "netops_scheduler_led",
    help: "1 while a node runs the schedules of the rules, else 0",
    samples: [["", leader === null ? 0 : 1]]
  },
  {
    name: "netops_scheduler_lag_seconds",
    help: "How late the last look at the schedules was",
    samples: [["", lag_ms / 1000]]
  }
])

const disk = Effect.map(
  Effect.flatMap(Retention, ({ config }) => config),
  ({ disk_space }): ReadonlyArray<Gauge> => [{
    name: "netops_event_store_disk_used_ratio",
    help: "Used part of the disk of the event store",
    samples: [["", disk_space.used_percent / 100]]
  }]
)

const line = (name: string) => ([labels, value]: readonly [string, number]) =>
  `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`

const render = ({ help, name, samples }: Gauge) =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${samples.map(line(name)).join("")}`

const found = <R>(gauges: Effect.Effect<ReadonlyArray<Gauge>, unknown, R>) =>
  gauges.pipe(
    Effect.disconnect,
    Effect.timeout("3 seconds"),
    Effect.catchAllCause(() => Effect.succeed<ReadonlyArray<Gauge>>([]))
  )

/**
 * What the service as a whole is like now, in Prometheus' text format: the same from each node. What can't be found
 * out within 3 seconds is left out.
 */
export const serviceGauges = Effect.map(
  Effect.all([found(checks), found(deliveries), found(scheduler), found(disk)], { concurrency: "unbounded" }),
  (gauges) => gauges.flat().map(render).join("")
)
