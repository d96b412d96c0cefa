import { Config, Effect, Layer, Logger, LogLevel } from "effect"
import { writeSync } from "node:fs"

const gathering = { ms: 20, characters: 64 * 1024 }

/** Written together, since a write for each line costs as much as the line; what warns is written at once. */
const gathered = (lines: Logger.Logger<unknown, string>) =>
  Layer.unwrapScoped(Effect.gen(function*() {
    let text = ""
    let timer: NodeJS.Timeout | undefined
    const write = () => {
      clearTimeout(timer)
      timer = undefined
      if (text !== "") process.stdout.write(text)
      text = ""
    }
    // At the end of the process nothing is written later.
    const writeLast = () => {
      if (text !== "") writeSync(1, text)
      text = ""
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("exit", writeLast)),
      () =>
        Effect.sync(() => {
          process.off("exit", writeLast)
          write()
        })
    )
    const logger = Logger.make<unknown, void>((options) => {
      text += `${lines.log(options)}\n`
      if (LogLevel.greaterThanEqual(options.logLevel, LogLevel.Warning) || text.length > gathering.characters) write()
      else timer ??= setTimeout(write, gathering.ms)
    })
    return Logger.replace(Logger.defaultLogger, logger)
  }))

const formats = {
  json: gathered(Logger.jsonLogger),
  logfmt: gathered(Logger.logfmtLogger),
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
