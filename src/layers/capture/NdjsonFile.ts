import { NodeStream } from "@effect/platform-node"
import { Effect, Stream } from "effect"
import { createReadStream } from "node:fs"
import { open, stat } from "node:fs/promises"
import { pipeline } from "node:stream"
import { createGunzip } from "node:zlib"
import { CaptureFailed } from "../../services/PacketCapture.ts"

const codeOf = (cause: unknown): unknown => typeof cause === "object" && cause !== null && "code" in cause && cause.code

const failed = (path: string) => (cause: unknown): CaptureFailed => {
  switch (codeOf(cause)) {
    case "ENOENT":
      return new CaptureFailed({ reason: "not-found", from: path, message: `${path} doesn't exist.` })
    case "EACCES":
    case "EPERM":
      return new CaptureFailed({ reason: "permission", from: path, message: `${path} may not be read.` })
    case "EISDIR":
      return new CaptureFailed({ reason: "not-a-capture", from: path, message: `${path} is a directory.` })
    default:
      return new CaptureFailed({
        reason: "other",
        from: path,
        message: `${path} can't be read${cause instanceof Error ? `: ${cause.message}` : ""}.`
      })
  }
}

/** Whether the file begins as gzip does (RFC 1952), whatever its name. */
const isGzip = async (path: string): Promise<boolean> => {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await file.close()
  }
}

/**
 * The octets of a file of event lines, unpacked as they are read if it is gzipped; memory stays flat. `onRead` is told
 * the share of the file that is read, from 0 to 1.
 */
export const ndjsonFile = (
  path: string,
  onRead: (share: number) => void = () => {}
): Stream.Stream<Uint8Array, CaptureFailed> =>
  Stream.unwrap(
    Effect.tryPromise({ try: () => Promise.all([isGzip(path), stat(path)]), catch: failed(path) }).pipe(
      Effect.map(([gzip, { size }]) =>
        NodeStream.fromReadable<CaptureFailed, Uint8Array>(() => {
          const file = createReadStream(path)
          file.on("data", () => onRead(file.bytesRead / size))
          // The callback keeps an error of the file from going unhandled; the reader sees it as the end stream's own.
          return gzip ? pipeline(file, createGunzip(), () => undefined) : file
        }, failed(path))
      )
    )
  )
