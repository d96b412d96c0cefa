import { Config, Effect, Layer, Logger, LogLevel } from "effect"

const formats = {
  json: Logger.json,
  logfmt: Logger.logFmt,
  pretty: Logger.pretty
}

const format = Config.literal("json", "logfmt", "pretty")("NETOPS_LOG_FORMAT").pipe(
  Config.orElse(() => Config.succeed(process.stdout.isTTY ? "pretty" as const : "logfmt" as const))
)

const level = Config.logLevel("NETOPS_LOG_LEVEL").pipe(Config.withDefault(LogLevel.Info))

/** Logs to standard output: `NETOPS_LOG_FORMAT` json, logfmt or pretty, from `NETOPS_LOG_LEVEL` up. */
export const LoggingLive = Layer.unwrapEffect(
  Effect.map(
    Config.all({ format, level }),
    ({ format, level }) => Layer.merge(formats[format], Logger.minimumLogLevel(level))
  )
)
