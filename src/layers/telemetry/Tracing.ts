import { OtlpSerialization, OtlpTracer } from "@effect/opentelemetry"
import { FetchHttpClient, HttpMiddleware } from "@effect/platform"
import { Config, Effect, Function, Layer, Option } from "effect"

const endpoint = Config.option(Config.url("OTEL_EXPORTER_OTLP_ENDPOINT"))

/** Without it spans are made of every request and statement, and thrown away. */
const untraced = Layer.merge(
  Layer.setTracerEnabled(false),
  Layer.locallyScoped(HttpMiddleware.currentTracerDisabledWhen, Function.constTrue)
)

/** Sends spans to the OTLP/HTTP collector at `OTEL_EXPORTER_OTLP_ENDPOINT`; without one nothing is traced. */
export const TracingLive = Layer.unwrapEffect(
  Effect.map(
    endpoint,
    Option.match({
      onNone: () => untraced,
      onSome: (url) =>
        OtlpTracer.layer({
          url: `${url.href.replace(/\/$/, "")}/v1/traces`,
          resource: { serviceName: "netops-api" }
        }).pipe(Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer]))
    })
  )
)
