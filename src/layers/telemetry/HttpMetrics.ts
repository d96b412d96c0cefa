import { Context, Effect, Layer } from "effect"
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client"

/** Metrics of this process in Prometheus' text format: the answers given, and what Node says of itself. */
export class HttpMetrics extends Context.Tag("telemetry/HttpMetrics")<
  HttpMetrics,
  {
    readonly observe: (operation: string, method: string, status: number, elapsedMs: number) => void
    /** Tells until when the certificate of the service is good, in milliseconds since 1970. */
    readonly certificateUntil: (millis: number) => void
    readonly render: Effect.Effect<string>
  }
>() {}

export const HttpMetricsProm = Layer.sync(HttpMetrics, () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: "netops_http_requests_total",
    help: "Answers given, by operation, method and status",
    labelNames: ["operation", "method", "status"],
    registers: [registry]
  })
  const duration = new Histogram({
    name: "netops_http_request_duration_seconds",
    help: "Time from the request to its answer, by operation",
    labelNames: ["operation"],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry]
  })
  let certificate: Gauge | undefined
  return HttpMetrics.of({
    observe: (operation, method, status, elapsedMs) => {
      requests.inc({ operation, method, status })
      duration.observe({ operation }, elapsedMs / 1000)
    },
    certificateUntil: (millis) => {
      certificate ??= new Gauge({
        name: "netops_tls_certificate_expires_timestamp_seconds",
        help: "When the certificate of NETOPS_TLS_CERT ends, in seconds since 1970",
        registers: [registry]
      })
      certificate.set(millis / 1000)
    },
    render: Effect.promise(() => registry.metrics())
  })
})
