import { Command, Options } from "@effect/cli"
import { Chunk, Clock, Console, Effect, Layer, Option, Schedule, Stream } from "effect"
import { randomUUID } from "node:crypto"
import type { Client } from "../api/client.ts"
import { Tshark } from "../layers/capture/Tshark.ts"
import { PacketCapture } from "../services/PacketCapture.ts"
import { authenticatedClient } from "./connection.ts"
import { CommandFailed } from "./failure.ts"
import { makeProgress, type Progress } from "./progress.ts"
import { ndjsonLines, shiftLinesToNow, type SourceLine } from "./sources.ts"

/** Lines of one request, and for how long a live source gathers them. */
const requestLines = 20_000
const gather = "1 second"

const retries = Schedule.intersect(Schedule.exponential("200 millis"), Schedule.recurs(5))

/** Sends lines in requests of bounded size, each under a key of its own, so that trying again stores nothing twice. */
export const sendLines = Effect.fn("sendLines")(function*<E, R>(
  client: Client,
  lines: Stream.Stream<SourceLine, E, R>,
  show: (progress: Progress) => Effect.Effect<void>
) {
  const run = randomUUID()
  let sent = 0
  let progress: Progress = { accepted: 0, rejected: 0 }
  yield* lines.pipe(
    Stream.groupedWithin(requestLines, gather),
    Stream.filter(Chunk.isNonEmpty),
    Stream.runForEach((chunk) =>
      Effect.gen(function*() {
        const payload = Chunk.join(Chunk.map(chunk, (line) => `${line.text}\n`), "")
        const first = sent
        const headers = { "idempotency-key": `${run}-${first}` }
        const verdict = yield* client.dhcpEvents.ingest({ payload, headers }).pipe(
          Effect.retry({
            schedule: retries,
            while: (error) => error._tag === "RequestError" || ("status" in error && error.status === 503)
          })
        )
        sent += chunk.length
        progress = {
          accepted: progress.accepted + verdict.accepted,
          rejected: progress.rejected + verdict.rejected,
          share: Option.getOrUndefined(Chunk.last(chunk))?.share
        }
        for (const error of verdict.errors) yield* Console.error(`line ${first + error.line}: ${error.message}`)
        yield* show(progress)
      })
    )
  )
  return progress
})

const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

const sources = {
  pcap: optional("pcap", "Capture file (pcap, pcapng, also gzipped), decoded by tshark"),
  interface: optional("interface", "Network interface to listen on with tshark until interrupted"),
  ndjson: optional("ndjson", "File of events, one JSON object a line, also gzipped; - for standard input"),
  shift: Options.boolean("shift-to-now").pipe(
    Options.withDescription("Move a recording in time so that it ends now")
  )
}

const captured = <E, R>(events: Stream.Stream<object, E, R>) =>
  Stream.map(events, (event): SourceLine => ({ text: JSON.stringify(event) }))

export const ingest = Command.make("ingest", sources, (options) =>
  Effect.gen(function*() {
    const { interface: device, ndjson, pcap, shift } = options
    const given = [pcap, device, ndjson].filter(Option.isSome)
    if (given.length !== 1) {
      return yield* new CommandFailed({ message: "name one source: --pcap FILE, --interface NAME or --ndjson FILE" })
    }
    if (shift && (Option.isSome(device) || Option.contains(ndjson, "-"))) {
      return yield* new CommandFailed({ message: "--shift-to-now needs a file: only what has ended can be moved" })
    }
    const client = yield* authenticatedClient
    const capture = yield* PacketCapture
    const source = (): Stream.Stream<SourceLine, unknown> =>
      Option.isSome(pcap)
        ? captured(capture.fromFile(pcap.value))
        : Option.isSome(device)
        ? captured(capture.fromInterface(device.value))
        : ndjsonLines(Option.getOrThrow(ndjson))
    const lines = shift ? shiftLinesToNow(source, yield* Clock.currentTimeMillis) : source()
    const progress = yield* makeProgress(process.stderr)
    const total = yield* sendLines(client, lines, progress.update)
    yield* progress.done(total)
    if (total.rejected > 0) return yield* new CommandFailed({ message: `${total.rejected} lines were rejected` })
  }).pipe(Effect.provide(Layer.orDie(Tshark)))).pipe(
    Command.withDescription("Send DHCP events to the service at NETOPS_URL with NETOPS_TOKEN")
  )
