import { ConfigProvider, Effect, Exit, Layer, Logger, LogLevel, Scope } from "effect"
import { ListenerLive } from "../../src/layers/http/Listener.ts"
import { HttpLive } from "../../src/layers/http/Server.ts"
import { freePort } from "./serverNode.ts"
import { MemoryPorts, ServedApi } from "./testApi.ts"

/** The service over memory on a port of its own, until the scope closes, with the lines that it logs. */
export const served = Effect.fnUntraced(function*(settings: Readonly<Record<string, string>> = {}) {
  const port = yield* freePort
  const lines: Array<string> = []
  const log = Logger.make(({ logLevel, message }) => {
    if (LogLevel.greaterThanEqual(logLevel, LogLevel.Info)) lines.push(`${logLevel.label} ${String(message)}`)
  })
  const config = ConfigProvider.fromMap(new Map(Object.entries({ PORT: String(port), ...settings })))
  const Service = HttpLive.pipe(
    Layer.provide(ListenerLive),
    Layer.provide(ServedApi),
    Layer.provide(MemoryPorts),
    Layer.provide(Layer.setConfigProvider(config)),
    Layer.provide(Logger.replace(Logger.defaultLogger, log))
  )
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  yield* Layer.buildWithScope(Service, scope)
  return { lines, port }
})
