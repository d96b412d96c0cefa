import { OtlpSerialization, OtlpTracer } from "@effect/opentelemetry"
import { FetchHttpClient } from "@effect/platform"
import { Config, Effect, Layer, Option } from "effect"

const endpoint = Config.option(Config.url("OTEL_EXPORTER_OTLP_ENDPOINT"))

/** Sends spans to the OTLP/HTTP collector at `OTEL_EXPORTER_OTLP_ENDPOINT`; without one nothing is traced. */
export const TracingLive = Layer.unwrapEffect(
  Effect.map(
    endpoint,
    Option.match({
      onNone: () => Layer.empty,
      onSome: (url) =>
        OtlpTracer.layer({
          url: `${url.href.replace(/\/$/, "")}/v1/traces`,
          resource: { serviceName: "netops-api" }
        }).pipe(Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer]))
    })
  )
)
