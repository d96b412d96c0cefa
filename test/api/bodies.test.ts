import { HttpServerRequest } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { Readable } from "node:stream"
import { requestBody } from "../../src/layers/http/requestOctets.ts"

const bounds = { bytesMax: 10, arrival: "30 millis", tooLarge: () => "large", late: () => "late" } as const

const read = (source: Readable) =>
  requestBody(
    Object.create(HttpServerRequest.fromWeb(new Request("http://test/")), {
      source: { value: source }
    }) as HttpServerRequest.HttpServerRequest,
    bounds
  ).pipe(Effect.map((octets) => Buffer.from(octets).toString()))

const failure = (exit: Exit.Exit<string, unknown>) => Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined

describe("a body that is read whole", () => {
  it.live("comes in pieces, or is empty", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* read(Readable.from([Buffer.from("ab"), Buffer.from("c")], { objectMode: false })),
        "abc"
      )
      assert.strictEqual(yield* read(Readable.from([], { objectMode: false })), "")
    }))

  it.live("is refused where it is too large, and the rest of it dropped", () =>
    Effect.gen(function*() {
      const source = Readable.from(Array.from({ length: 50 }, () => Buffer.from("abc")), { objectMode: false })
      const ended = new Promise<void>((resolve) => void source.once("end", () => resolve()))
      assert.strictEqual(failure(yield* Effect.exit(read(source))), "large")
      yield* Effect.promise(() => ended)
    }))

  it.live("is refused where it doesn't arrive, and where its sender goes away", () =>
    Effect.gen(function*() {
      const silent = new Readable({ read: () => {} })
      assert.strictEqual(failure(yield* Effect.exit(read(silent))), "late")
      const broken = new Readable({ read: () => {} })
      const reading = yield* Effect.fork(Effect.exit(read(broken)))
      yield* Effect.yieldNow()
      broken.destroy()
      assert.propertyVal(failure(yield* Fiber.join(reading)), "reason", "Decode")
      assert.propertyVal(failure(yield* Effect.exit(read(broken))), "reason", "Decode")
    }))

  it.live("leaves the source as it was where nobody waits any more", () =>
    Effect.gen(function*() {
      const source = new Readable({ read: () => {} })
      const reading = yield* Effect.fork(read(source))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(reading)
      assert.deepStrictEqual(["data", "error"].map((name) => source.listenerCount(name)), [0, 0])
    }))
})
