import { Command, CommandExecutor, type Error as PlatformError, FileSystem } from "@effect/platform"
import { Chunk, Effect, Fiber, Layer, Option, Stream } from "effect"
import { basename, resolve } from "node:path"
import type { DhcpEventEncoded } from "../../schema/DhcpEvent.ts"
import { makeAnswerMacs } from "../../services/capture/AnswerMacs.ts"
import {
  dhcpPortsFilter,
  eventOfDatagram,
  readTsharkLine,
  tsharkDisplayFilter,
  tsharkFields
} from "../../services/capture/TsharkPacket.ts"
import { type CaptureError, PacketCapture } from "../../services/PacketCapture.ts"
import { complaintOf, cutShort, failureOf, toolMissing } from "./TsharkComplaint.ts"

/** How much of tshark's standard error is kept to explain a failure, in characters. */
const complaintLengthMax = 16_384

/** A live capture keeps its packets in two files of this size (kB) by turns; alone tshark would fill the disk. */
const ringFile_kb = 8192

/** Packets after which tshark forgets the conversations it follows, so that its memory stays flat. */
const sessionPackets = "100000"

/** How long tshark may take to stop before it is killed. */
const stopGrace = "1 second"

/** What a runner before tshark (env, a shell) exits with when it finds no tshark. */
const commandNotFound = 127

const output = ["-T", "ek", ...tsharkFields.flatMap((field) => ["-e", field])]

const fileArguments = (path: string) => ["-n", "-r", path, "-Y", tsharkDisplayFilter, ...output]

const liveArguments = (name: string, directory: string) => [
  ...["-n", "-l", "-i", name, "-f", dhcpPortsFilter, "-M", sessionPackets],
  ...["-w", `${directory}/ring.pcapng`, "-b", `filesize:${ringFile_kb}`, "-b", "files:2", "-V"],
  ...output
]

interface Run {
  /** What the user named: the file or the interface. */
  readonly from: string
  readonly source: string
  readonly live: boolean
  readonly arguments: (directory: string) => ReadonlyArray<string>
}

/** The events in tshark's lines, and how many messages had none. */
const makeEventReader = (source: string) => {
  const withMac = makeAnswerMacs()
  const reader = {
    left: 0,
    read: (line: string): Option.Option<DhcpEventEncoded> => {
      const datagram = readTsharkLine(line)
      if (datagram === undefined) return Option.none()
      const event = eventOfDatagram(datagram, source)
      if (event === undefined) reader.left++
      return Option.fromNullable(event === undefined ? undefined : withMac(event))
    }
  }
  return reader
}

/** The last characters of tshark's standard error; reading it all also keeps tshark from waiting on a full pipe. */
const lastWords = (process: CommandExecutor.Process) =>
  process.stderr.pipe(
    Stream.decodeText(),
    Stream.runFold("", (kept, text) => (kept + text).slice(-complaintLengthMax)),
    Effect.orElseSucceed(() => "")
  )

const stop = (process: CommandExecutor.Process) =>
  Effect.whenEffect(
    Effect.interruptible(process.kill()).pipe(
      Effect.timeout(stopGrace),
      Effect.catchAll(() => process.kill("SIGKILL"))
    ),
    process.isRunning
  ).pipe(Effect.ignore)

const make = (prefix: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const executor = yield* CommandExecutor.CommandExecutor
    const files = yield* FileSystem.FileSystem

    /** An empty directory for tshark's configuration (the user's own could change what it decodes) and its ring. */
    const start = (run: Run) =>
      Effect.gen(function*() {
        const directory = yield* files.makeTempDirectoryScoped({ prefix: "netops-capture-" })
        const [program, ...rest] = [...prefix, "tshark", ...run.arguments(directory)]
        const process = yield* executor.start(
          Command.make(program!, ...rest).pipe(Command.env({ WIRESHARK_CONFIG_DIR: directory }))
        )
        yield* Effect.addFinalizer(() => stop(process))
        return process
      })

    const unexpected = (run: Run) => (error: PlatformError.PlatformError): CaptureError =>
      error._tag === "SystemError" && error.reason === "NotFound" && error.method === "spawn"
        ? toolMissing
        : failureOf(run.from, run.live, error.message)

    const verdict = (run: Run, code: number, stderr: string, left: number) => {
      if (code === commandNotFound) return Effect.fail(toolMissing)
      const complaint = complaintOf(stderr)
      if (code !== 0 && (run.live || !cutShort(complaint))) return Effect.fail(failureOf(run.from, run.live, complaint))
      const warnings = [
        ...code === 0 ? [] : [`${run.from}: ${complaint} The events before that were read.`],
        ...left === 0 ? [] : [`${run.from}: ${left} messages left out, which name no client or have another type`]
      ]
      return Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
    }

    const capture = (run: Run): Stream.Stream<DhcpEventEncoded, CaptureError> =>
      Stream.unwrapScoped(Effect.gen(function*() {
        const process = yield* Effect.mapError(start(run), unexpected(run))
        const stderr = yield* Effect.forkScoped(lastWords(process))
        const reader = makeEventReader(run.source)
        const end = Effect.gen(function*() {
          const code = yield* Effect.orElseSucceed(process.exitCode, () => -1)
          return yield* verdict(run, code, yield* Fiber.join(stderr), reader.left)
        })
        return process.stdout.pipe(
          Stream.decodeText(),
          Stream.splitLines,
          Stream.mapError(unexpected(run)),
          Stream.mapChunks(Chunk.filterMap(reader.read)),
          Stream.concat(Stream.drain(Stream.fromEffect(end)))
        )
      }))

    return PacketCapture.of({
      fromFile: (path) =>
        capture({ from: path, source: basename(path), live: false, arguments: () => fileArguments(resolve(path)) }),
      fromInterface: (name) =>
        capture({ from: name, source: name, live: true, arguments: (directory) => liveArguments(name, directory) })
    })
  })

/**
 * Captures by tshark, run as `[...prefix, "tshark", …]`: `["ip", "netns", "exec", NAME]` captures in another network
 * namespace. A live capture needs the right to capture, a file only tshark.
 */
export const layerTshark = (options: { readonly prefix: ReadonlyArray<string> }) =>
  Layer.effect(PacketCapture, make(options.prefix))

/** Captures by the tshark on the path. */
export const Tshark = layerTshark({ prefix: [] })
