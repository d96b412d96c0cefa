import { Effect, Layer } from "effect"
import type { LogPipelineSettings } from "../../schema/LogPipeline.ts"
import { allowPrivateTargets } from "../../services/LogPipeline.ts"
import { LogPipelineTransport, SendFailed } from "../../services/LogPipelineChannel.ts"
import { type Target, targetOf } from "../../services/notify/targets.ts"
import { connectedEvent, connectTo, type Guard, systemGuard } from "./guardedConnection.ts"
import { postRecords } from "./httpPipe.ts"
import { writeRecords } from "./syslogPipe.ts"

/** One line for users: which system call or check failed, and at which host. */
const failure = ({ host, port }: Target) => (cause: unknown): SendFailed => {
  if (cause instanceof SendFailed) return cause
  const { code, message } = cause as NodeJS.ErrnoException
  const reason = code === "EFORBIDDEN" || code === undefined ? message : code
  return new SendFailed({ scope: "channel", message: `${host} port ${port}: ${reason}` })
}

const bounded = (
  { request }: LogPipelineSettings,
  target: Target,
  attempt: (signal: AbortSignal) => Promise<void>
): Effect.Effect<void, SendFailed> =>
  Effect.tryPromise({ try: attempt, catch: failure(target) }).pipe(
    Effect.timeoutFail({
      duration: `${request.timeout_secs * 1000} millis`,
      onTimeout: () =>
        new SendFailed({
          scope: "channel",
          message: `${target.host} port ${target.port}: no answer within ${request.timeout_secs} s`
        })
    })
  )

const connectOnce = (settings: LogPipelineSettings, target: Target, guard: Guard, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const socket = connectTo(target, settings, guard)
    socket.once("error", reject)
    socket.once(connectedEvent(target), () => {
      socket.destroy()
      resolve()
    })
    signal.addEventListener("abort", () => socket.destroy(new Error("given up")), { once: true })
  })

const transport = (guard: Guard) => {
  const resolved = (settings: LogPipelineSettings) => {
    const target = targetOf(settings.type, settings.uri)
    return typeof target === "string"
      ? Effect.fail(new SendFailed({ scope: "channel", message: target }))
      : Effect.succeed(target)
  }
  return LogPipelineTransport.of({
    probe: ({ settings }) =>
      Effect.flatMap(
        resolved(settings),
        (target) => bounded(settings, target, (signal) => connectOnce(settings, target, guard, signal))
      ),
    open: ({ settings }) =>
      Effect.succeed({
        send: (records) =>
          Effect.flatMap(resolved(settings), (target) =>
            bounded(settings, target, (signal) =>
              settings.type === "http"
                ? postRecords(settings, target, guard, records, signal)
                : writeRecords(settings, target, guard, records, signal)))
      })
  })
}

/** The same with another resolver of names. */
export const logPipelineTransport = (guard: Guard) => Layer.succeed(LogPipelineTransport, transport(guard))

/** HTTP and syslog over node's sockets, to public addresses unless `NETOPS_ALLOW_PRIVATE_TARGETS`. */
export const LogPipelineTransportNode = Layer.effect(
  LogPipelineTransport,
  Effect.map(allowPrivateTargets, (allowPrivate) => transport(systemGuard(allowPrivate)))
)
