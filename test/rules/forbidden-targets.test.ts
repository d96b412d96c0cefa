import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Schema } from "effect"
import { createServer, type Server } from "node:net"
import { logPipelineTransport } from "../../src/layers/notify/LogPipelineTransportNode.ts"
import { LogPipelineDraft } from "../../src/schema/LogPipeline.ts"
import { LogPipelineTransport } from "../../src/services/LogPipelineChannel.ts"
import { isPublicAddress, targetOf } from "../../src/services/notify/targets.ts"

/** Forms in which loopback, private, link-local, metadata, shared and other special addresses are written. */
export const forbiddenHosts = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0x7f.0.0.1",
  "0177.0.0.1",
  "017700000001",
  "0177.0.0.0x1",
  "127.0.0.1.",
  "127.000.000.001",
  "%31%32%37.0.0.1",
  "１２７.0.0.1",
  "①②⑦.0.0.1",
  "127。0。0。1",
  "0",
  "0.0.0.0",
  "0x0",
  "0.1.2.3",
  "10.0.0.1",
  "10.1",
  "167772161",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.0.1",
  "3232235521",
  "0xc0a80001",
  "169.254.1.1",
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "100.64.0.1",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "[::127.0.0.1]",
  "[::ffff:a9fe:a9fe]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::a00:1]",
  "[2002:7f00:1::]",
  "[2001::7f00:1]",
  "[fe80::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[fec0::1]",
  "[ff02::1]",
  "[2001:db8::1]",
  "[::ffff:0:127.0.0.1]"
]

const counted = Effect.acquireRelease(
  Effect.promise(() =>
    new Promise<{ readonly server: Server; readonly port: number; readonly seen: () => number }>((resolve) => {
      let seen = 0
      const server = createServer((socket) => {
        seen++
        socket.destroy()
      })
      server.listen(
        0,
        "::",
        () => resolve({ server, port: (server.address() as { port: number }).port, seen: () => seen })
      )
    })
  ),
  ({ server }) => Effect.sync(() => server.close())
)

const draftOf = (type: "http" | "syslog", uri: string) =>
  Schema.decodeUnknownSync(LogPipelineDraft)({ type, uri, request: { timeout_secs: 1 } })

const record = {
  json: "{}",
  type: "notification.test",
  severity: "info" as const,
  time: "2026-01-01T00:00:00.000Z",
  eventId: "e",
  deliveryId: "d"
}

/** A resolver that gives these addresses for every name, in turn where there are several lists. */
const resolver = (...lists: ReadonlyArray<ReadonlyArray<string>>) => {
  let turn = 0
  return ((_: string, __: object, callback: (error: null, addresses: ReadonlyArray<object>) => void) => {
    const list = lists[Math.min(turn++, lists.length - 1)]!
    callback(null, list.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })))
  }) as never
}

const attempt = (type: "http" | "syslog", uri: string, resolve: never) =>
  Effect.gen(function*() {
    const settings = draftOf(type, uri)
    const transport = yield* LogPipelineTransport
    const probed = yield* Effect.either(transport.probe({ settings, secrets: {} }))
    const pipe = yield* transport.open({ settings, secrets: {} })
    const sent = yield* Effect.either(pipe.send([record]))
    return [probed._tag, sent._tag]
  }).pipe(Effect.scoped, Effect.provide(logPipelineTransport({ allowPrivate: false, resolve })))

describe("targets of channels", () => {
  it.scopedLive(
    `${forbiddenHosts.length} forms of forbidden addresses are never connected to`,
    () =>
      Effect.gen(function*() {
        const { port, seen } = yield* counted
        assert.isAtLeast(forbiddenHosts.length, 60)
        for (const host of forbiddenHosts) {
          for (
            const [type, scheme] of [["http", "http"], ["http", "https"], ["syslog", "tcp"], ["syslog", "tls"]] as const
          ) {
            const uri = `${scheme}://${host}:${port}`
            assert.deepStrictEqual(yield* attempt(type, uri, resolver(["127.0.0.1"])), ["Left", "Left"], uri)
          }
        }
        assert.strictEqual(seen(), 0)
      }),
    60_000
  )

  it.scopedLive("nor are names that resolve to one, at once or at the next look", () =>
    Effect.gen(function*() {
      const { port, seen } = yield* counted
      const lists = [["127.0.0.1"], ["::1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"]]
      for (const name of ["localhost", "localhost.", "logs.example", "127.0.0.1.nip.io", "metadata.google.internal"]) {
        for (const list of lists) {
          const uri = `http://${name}:${port}`
          assert.deepStrictEqual(yield* attempt("http", uri, resolver(list)), ["Left", "Left"], uri)
        }
      }
      assert.strictEqual(seen(), 0)
      // Rebinding: what a name was before plays no part, each connection looks anew.
      yield* attempt("http", `http://logs.example:${port}`, resolver(["192.0.2.1"], ["127.0.0.1"]))
      assert.strictEqual(seen(), 0)
    }), 60_000)

  it("each IPv4 address is judged alike in all of its forms", () => {
    const forms = (octets: ReadonlyArray<number>) => {
      const [a, b, c, d] = octets as [number, number, number, number]
      const whole = ((a * 256 + b) * 256 + c) * 256 + d
      return [
        `${a}.${b}.${c}.${d}`,
        String(whole),
        `0x${whole.toString(16)}`,
        `0${whole.toString(8)}`,
        `0x${a.toString(16)}.0${b.toString(8)}.${c * 256 + d}`,
        `[::ffff:${a}.${b}.${c}.${d}]`
      ]
    }
    fc.assert(fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), (octets) => {
      const judged = forms(octets).map((host) => {
        const target = targetOf("http", `http://${host}/`)
        assert.isObject(target)
        return isPublicAddress((target as { host: string }).host)
      })
      assert.lengthOf([...new Set(judged)], 1)
    }))
    assert.isTrue(isPublicAddress("8.8.8.8"))
    assert.isTrue(isPublicAddress("2606:4700::1111"))
  })

  it("URIs are what their type takes, and carry no credentials", () => {
    assert.deepStrictEqual(targetOf("syslog", "tls://Logs.Example:80"), {
      scheme: "tls",
      host: "logs.example",
      port: 80,
      path: "/"
    })
    assert.deepInclude(targetOf("syslog", "tcp://[2606:4700::1]"), { host: "2606:4700::1", port: 601 })
    assert.deepInclude(targetOf("http", "https://logs.example/a?b=c"), { port: 443, path: "/a?b=c" })
    for (
      const uri of ["ftp://x", "http://u:p@x/", "http://", "file:///etc/passwd", "http://x/#f", "http://[::1%25lo]/"]
    ) {
      assert.isString(targetOf("http", uri), uri)
    }
    for (const uri of ["tcp://x/path", "http://x", "tcp://x?y"]) assert.isString(targetOf("syslog", uri), uri)
  })
})
