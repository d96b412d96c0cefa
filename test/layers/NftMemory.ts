import { Clock, Effect, Layer, Ref } from "effect"
import type { NftCommandObject } from "../../src/schema/Nftables.ts"
import { Nft, type NftCounter, NftRejected } from "../../src/services/Nft.ts"
import { Refused } from "./nftElements.ts"
import { emptyModel, execute, expire, listModel, type Model } from "./nftModel.ts"

const run = (model: Model, commands: ReadonlyArray<NftCommandObject>, nowMs: number) =>
  Effect.try({
    try: () => {
      const next = structuredClone(model)
      expire(next, nowMs)
      for (const command of commands) execute(next, command, nowMs)
      return next
    },
    catch: (error) => {
      if (error instanceof Refused) return new NftRejected({ messages: [error.message] })
      throw error
    }
  })

const withoutElements = (object: NftCommandObject): NftCommandObject =>
  JSON.parse(JSON.stringify(object, (key, value) => key === "elem" ? undefined : value))

const isVolatile = (key: string) => ["handle", "expires", "packets", "bytes"].includes(key)

const textOf = (objects: ReadonlyArray<NftCommandObject>) =>
  objects.map((object) => JSON.stringify(object, (key, value) => isVolatile(key) ? undefined : value)).join("\n")

/** A ruleset in memory; elements with a timeout leave it by the `Clock`. Its text is JSON, an object a line. */
export const NftMemory = Layer.effect(
  Nft,
  Effect.gen(function*() {
    const model = yield* Ref.make(emptyModel())
    const after = (commands: ReadonlyArray<NftCommandObject>) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (nowMs) => Effect.flatMap(Ref.get(model), (now) => run(now, commands, nowMs))
      )
    const list = Effect.zipWith(Effect.orDie(after([])), Clock.currentTimeMillis, listModel)

    return Nft.of({
      target: { kind: "sandbox", name: "memory" },
      version: Effect.succeed("memory"),
      probe: Effect.void,
      list,
      counters: ({ family, name }) =>
        Effect.map(list, (objects) =>
          objects.flatMap((object) => {
            const counter = object["counter"] as
              | (NftCounter & { readonly family: string; readonly table: string })
              | undefined
            return counter === undefined || counter.family !== family || counter.table !== name
              ? []
              : [{ name: counter.name, packets: counter.packets, bytes: counter.bytes }]
          })),
      structure: Effect.map(list, (objects) => objects.map(withoutElements)),
      render: (commands) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (nowMs) => Effect.map(run(emptyModel(), commands, nowMs), (model) => textOf(listModel(model, nowMs)))
        ),
      rehearse: (commands) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (nowMs) => Effect.map(run(emptyModel(), commands, nowMs), (model) => listModel(model, nowMs))
        ),
      // A connection takes a network.
      admits: () => Effect.succeedNone,
      listText: Effect.map(
        list,
        textOf
      ),
      check: (commands) => Effect.asVoid(after(commands)),
      apply: (commands) => Effect.flatMap(after(commands), (next) => Ref.set(model, next))
    })
  })
)
