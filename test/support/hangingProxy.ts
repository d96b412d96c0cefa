import { Effect, type Scope } from "effect"
import { connect, createServer, type Socket } from "node:net"

/** What stands between the service and an engine, and can keep silent as a hanging one does. */
export interface HangingProxy {
  readonly url: string
  /** From now on nothing passes, on old connections nor on new ones. */
  readonly hang: Effect.Effect<void>
  /** Everything passes again, what was held back too. */
  readonly resume: Effect.Effect<void>
}

export const hangingProxy = (to: string): Effect.Effect<HangingProxy, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { hostname, port } = new URL(to)
    const sockets = new Set<Socket>()
    let hanging = false
    const hold = (socket: Socket) => {
      sockets.add(socket)
      socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket))
      if (hanging) socket.pause()
    }
    const server = createServer((near) => {
      const far = connect(Number(port), hostname)
      near.pipe(far).pipe(near)
      near.on("close", () => far.destroy())
      far.on("close", () => near.destroy())
      for (const socket of [near, far]) hold(socket)
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    )
    const address = server.address() as { readonly port: number }
    const each = (is: boolean, act: (socket: Socket) => void) =>
      Effect.sync(() => {
        hanging = is
        sockets.forEach(act)
      })
    return {
      url: Object.assign(new URL(to), { hostname: "127.0.0.1", port: String(address.port) }).href,
      hang: each(true, (socket) => socket.pause()),
      resume: each(false, (socket) => socket.resume())
    }
  })
