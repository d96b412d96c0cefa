import { Duration, Effect, Layer, Schedule, Schema } from "effect"
import { Nftables, type NftCommandObject } from "../../schema/Nftables.ts"
import { Nft, NftRejected, NftUnavailable } from "../../services/Nft.ts"
import { connectionTrial } from "./connectionTrial.ts"
import { NftPlace, NftPlaceLive } from "./NftPlace.ts"
import { runTool, type ToolResult } from "./runTool.ts"
import { withScratch } from "./scratch.ts"
import { encodeTransaction, inputDirectory, withInputFile } from "./transaction.ts"

const processesMax = 8
const messagesMax = 20
const messageMaxLength = 500

const Counter = Schema.Struct({
  family: Schema.String,
  table: Schema.String,
  name: Schema.String,
  packets: Schema.Number,
  bytes: Schema.Number
})
const decodeCounters = Schema.decode(
  Schema.parseJson(Schema.Struct({ nftables: Schema.Array(Schema.Struct({ counter: Schema.optional(Counter) })) }))
)

const unavailable = (reason: string) => new NftUnavailable({ reason })

/** nft's messages about a transaction; the positions it prints in JSON mode are all zero and say nothing. */
const messagesOf = ({ code, stderr }: ToolResult): ReadonlyArray<string> => {
  const messages = stderr.split("\n")
    .map((line) => /^internal:[0-9:-]+ (?:Error: )?(.*)$/.exec(line)?.[1] ?? "")
    .filter((message) => message !== "" && !/^Parsing command array at index \d+ failed/.test(message))
    .map((message) => message.slice(0, messageMaxLength))
  if (messages.length > 0) return messages.slice(0, messagesMax)
  if (code === null) return ["nft crashed on the transaction"]
  return [code === 1 ? "The transaction isn't libnftables JSON" : `nft ended with ${code} and no message`]
}

/** What stands in the way when the tool itself can't work, `undefined` when it judged the input. */
const obstacleOf = ({ code, stderr }: ToolResult): string | undefined => {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "")
  const obstacle = lines.find((line) => /^nsenter: |cache initialization failed|Netlink socket/i.test(line))
  if (obstacle !== undefined) return /failed to execute nft: No such/.test(obstacle) ? "nft is not installed" : obstacle
  return code !== null && code >= 126 ? lines[0] ?? `nft ended with ${code}` : undefined
}

const make = Effect.gen(function*() {
  const { options, target } = yield* NftPlace
  const directory = yield* inputDirectory
  const processes = yield* Effect.makeSemaphore(processesMax)

  const runIn = (enter: ReadonlyArray<string>, args: ReadonlyArray<string>) =>
    Effect.suspend(() => {
      const [file = "nft", ...rest] = [...enter, "nft", ...args]
      return Effect.mapError(runTool([file, ...rest], options), ({ reason }) => unavailable(reason))
    }).pipe(
      Effect.filterOrElse(
        (result) => obstacleOf(result) === undefined,
        (result) => unavailable(obstacleOf(result) ?? "")
      )
    )

  // A holder that is dying is taken for alive once more; nft didn't start then.
  const run = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(target.enter, (enter) => runIn(enter, args)).pipe(
      Effect.retry({
        schedule: Schedule.spaced("20 millis"),
        times: 3,
        while: ({ reason }) => reason.startsWith("nsenter: ")
      })
    )

  const read = (...args: ReadonlyArray<string>) =>
    run(...args).pipe(
      Effect.filterOrElse((result) => result.code === 0, (result) => unavailable(messagesOf(result).join("; "))),
      Effect.map(({ stdout }) => stdout),
      processes.withPermits(1),
      Effect.timeoutFail({
        duration: Duration.times(options.timeout, 2),
        onTimeout: () => unavailable("too many nft calls are waiting")
      })
    )

  const version = Effect.map(read("--version"), (text) => /v(\d\S*)/.exec(text)?.[1] ?? text.trim())
  const probe = Effect.asVoid(read("-j", "list", "tables"))

  const transact = (flags: ReadonlyArray<string>, commands: ReadonlyArray<NftCommandObject>) =>
    commands.length === 0 ? Effect.void : Effect.gen(function*() {
      const text = yield* encodeTransaction(commands)
      const result = yield* withInputFile(directory, text, (path) => run("-j", ...flags, "-f", path))
      if (result.code === 0) return
      // Before it sends anything nft has judged everything; where the judging doesn't crash too, what was sent is unknown.
      if (result.code === null && flags.length === 0) {
        const check = yield* withInputFile(directory, text, (path) => run("-j", "-c", "-f", path))
        if (check.code !== null) return yield* unavailable("nft crashed")
      }
      // A table owned by another process is refused in the words of a missing capability.
      if (result.stderr.includes("Operation not permitted")) yield* probe
      return yield* new NftRejected({ messages: messagesOf(result) })
    })

  const objects = (text: string) =>
    Schema.decode(Schema.parseJson(Nftables))(text).pipe(
      Effect.map(({ nftables }) => nftables.filter((object) => !("metainfo" in object))),
      Effect.catchTag("ParseError", () => unavailable("nft listed what isn't libnftables JSON"))
    )

  /** What nft lists of these commands in a namespace of their own. */
  const elsewhere = (commands: ReadonlyArray<NftCommandObject>, ...list: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      const text = yield* encodeTransaction(commands)
      const outer = yield* target.enter
      return yield* withScratch(outer, options, (enter) =>
        Effect.gen(function*() {
          if (commands.length > 0) {
            const result = yield* withInputFile(directory, text, (path) => runIn(enter, ["-j", "-f", path]))
            if (result.code !== 0) return yield* new NftRejected({ messages: messagesOf(result) })
          }
          return (yield* runIn(enter, list)).stdout
        }))
    }).pipe(processes.withPermits(1))

  const nft = Nft.of({
    target: target.name,
    version,
    probe,
    // Only the terse listing of everything leaves the elements of sets in the kernel: `list counters` fetches them.
    counters: ({ family, name }) =>
      read("-j", "-t", "list", "ruleset").pipe(
        Effect.flatMap(decodeCounters),
        Effect.map(({ nftables }) =>
          nftables.flatMap(({ counter }) => counter?.family === family && counter.table === name ? [counter] : [])
        ),
        Effect.catchTag("ParseError", () => unavailable("nft listed what isn't libnftables JSON")),
        Effect.withSpan("Nft.counters")
      ),
    list: read("-j", "list", "ruleset").pipe(Effect.flatMap(objects), Effect.withSpan("Nft.list")),
    structure: read("-j", "-t", "list", "ruleset").pipe(Effect.flatMap(objects), Effect.withSpan("Nft.structure")),
    render: (commands) => elsewhere(commands, "-s", "list", "ruleset").pipe(Effect.withSpan("Nft.render")),
    rehearse: (commands) =>
      elsewhere(commands, "-j", "list", "ruleset").pipe(Effect.flatMap(objects), Effect.withSpan("Nft.rehearse")),
    admits: (commands, connection) =>
      connectionTrial(commands, connection, { ...options, directory }).pipe(
        processes.withPermits(1),
        Effect.withSpan("Nft.admits")
      ),
    listText: read("-s", "list", "ruleset").pipe(Effect.withSpan("Nft.listText")),
    check: (commands) =>
      transact(["-c"], commands).pipe(
        processes.withPermits(1),
        Effect.timeoutFail({
          duration: Duration.times(options.timeout, 2),
          onTimeout: () => unavailable("too many nft calls are waiting")
        }),
        Effect.withSpan("Nft.check")
      ),
    apply: (commands) => Effect.uninterruptible(transact([], commands)).pipe(Effect.withSpan("Nft.apply"))
  })

  const start = Effect.gen(function*() {
    yield* probe
    yield* Effect.logInfo(`nft: ${yield* target.place}, nft ${yield* version}`)
  })
  yield* target.chosen
    ? start
    : Effect.catchAll(start, ({ reason }) => Effect.logWarning(`nft: unavailable, ${reason}`))
  return nft
})

/**
 * The nft tool in the target of `NETOPS_NFT_TARGET`. A target that was named must work, or the layer fails; without
 * one every call answers `NftUnavailable` until nft and namespaces are there. `NETOPS_NFT_TIMEOUT` (10 s) bounds
 * each call. The sandbox outlives the process, a kill and a restart; it ends with its data directory, or with a
 * service manager that ends the whole control group.
 */
export const NftCommand = Layer.scoped(Nft, make).pipe(Layer.provide(NftPlaceLive))
