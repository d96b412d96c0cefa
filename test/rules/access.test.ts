import { assert, describe, it } from "@effect/vitest"
import { DateTime, FastCheck as fc, Redacted } from "effect"
import { clientAddress, type ProxyHeader } from "../../src/layers/http/ClientAddress.ts"
import { canonicalIp, inRange, ipOctets, parseCidr } from "../../src/schema/Ip.ts"
import { evaluate, IpRestrictionId, type Rule } from "../../src/schema/IpRestriction.ts"
import { redact, redacted } from "../../src/schema/Redaction.ts"

const now = DateTime.unsafeMake("2026-01-31T08:00:00Z")
const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("10.0.0.1", "10.0.0.2", "192.0.2.1", "::1"))
  .map((text) => canonicalIp(text)).filter((text) => text !== undefined)
const network = fc.oneof(
  fc.constantFrom("10.0.0.0/8", "10.0.0.1/32", "0.0.0.0/0", "::/0", "192.0.2.0/24"),
  fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })).map(([ip, prefix]) => `${ip}/${prefix}`)
).map((text) => parseCidr(text)!.text as Rule["network"])
const rule: fc.Arbitrary<Rule> = fc.record({
  id: fc.uuid().map((id) => IpRestrictionId.make(id)),
  type: fc.constantFrom("allow" as const, "deny" as const),
  network,
  enabled: fc.boolean(),
  priority: fc.integer({ min: 0, max: 3 }),
  expires_at: fc.option(fc.integer({ min: -2, max: 2 }).map((hours) => DateTime.add(now, { hours })))
})
const rules = fc.array(rule, { maxLength: 6 })
const inForce = (each: Rule) =>
  each.enabled && (each.expires_at === null || DateTime.toEpochMillis(each.expires_at) > DateTime.toEpochMillis(now))
const holds = (each: Rule, ip: string) => inRange(parseCidr(each.network)!, ipOctets(ip)!)

describe("IP restrictions", () => {
  it.prop("deny first; then an allow is needed once there is one", [rules, address], ([all, ip]) => {
    const live = all.filter(inForce)
    const denied = live.some((each) => each.type === "deny" && holds(each, ip))
    const allows = live.filter(({ type }) => type === "allow")
    const expected = !denied && (allows.length === 0 || allows.some((each) => holds(each, ip)))
    const verdict = evaluate(all, ip, now)
    assert.strictEqual(verdict.allowed, expected)
    const decided = all.find(({ id }) => id === verdict.matched)
    assert.strictEqual(decided === undefined, !denied && (allows.length === 0 || !expected))
    if (decided !== undefined) {
      assert.isTrue(holds(decided, ip))
      assert.strictEqual(decided.type, denied ? "deny" : "allow")
    }
    assert.deepStrictEqual(evaluate([...all].reverse(), ip, now), verdict)
    if (ip.includes(".")) assert.deepStrictEqual(evaluate(all, `::ffff:${ip}`, now), verdict)
  })

  it.prop("one more deny never admits", [rules, rule, address], ([all, one, ip]) => {
    const more = evaluate([...all, { ...one, type: "deny" as const }], ip, now)
    if (more.allowed) assert.isTrue(evaluate(all, ip, now).allowed)
  })
})

const proxies = [parseCidr("10.0.0.0/8")!, parseCidr("::1")!]
const isProxy = (ip: string) => proxies.some((range) => inRange(range, ipOctets(ip)!))
const hop = fc.oneof(address, fc.constantFrom("10.1.1.1", "10.2.2.2"))
const written: Record<ProxyHeader, (ips: ReadonlyArray<string>) => string> = {
  "x-forwarded-for": (ips) => ips.join(", "),
  forwarded: (ips) => ips.map((ip) => `proto=https;For="${ip.includes(":") ? `[${ip}]` : ip}:4711"`).join(",")
}

describe("the address of the client", () => {
  for (const header of ["x-forwarded-for", "forwarded"] as const) {
    const trust = { trusted: proxies, header }
    it.prop(`is the first from the right that is no proxy (${header})`, [hop, fc.array(hop)], ([peer, hops]) => {
      const chain = [peer, ...[...hops].reverse()]
      const expected = chain.find((ip) => !isProxy(ip)) ?? chain.at(-1)
      assert.strictEqual(clientAddress(peer, written[header](hops), trust), expected)
    })

    it.prop(`can't be forged through proxies (${header})`, [fc.string(), address], ([forged, client]) => {
      fc.pre(!isProxy(client) && !forged.includes("\""))
      const value = `${forged},${written[header]([client])}`
      assert.strictEqual(clientAddress("10.0.0.9", value, trust), client)
    })

    it.prop(`is the peer's where it is no proxy (${header})`, [address, fc.string()], ([peer, value]) => {
      fc.pre(!isProxy(peer))
      assert.strictEqual(clientAddress(peer, value, trust), peer)
    })
  }

  it("ends at what can't be read", () => {
    const trust = { trusted: proxies, header: "forwarded" as const }
    assert.strictEqual(clientAddress("10.0.0.9", "for=192.0.2.1, for=unknown, for=10.0.0.8", trust), "10.0.0.8")
    assert.strictEqual(clientAddress("::ffff:10.0.0.9", "for=192.0.2.1", trust), "192.0.2.1")
    assert.isUndefined(clientAddress(undefined, "for=192.0.2.1", trust))
  })
})

describe("redaction", () => {
  it.prop("leaves no secret, and what is redacted as it is", [fc.jsonValue(), fc.uuid()], ([value, secret]) => {
    const told = redact({
      a: [{ password: secret, Token: secret, mfa_code: { otp: secret }, api_key: [secret] }],
      b: Redacted.make(secret),
      value
    })
    assert.notInclude(JSON.stringify(told), secret)
    assert.deepStrictEqual(redact(told), told)
  })

  it("keeps what is no secret", () => {
    const told = {
      id: "x",
      mfaRequired: true,
      tokens_ok: false,
      name: "rule",
      keyboard: "de",
      encoding: { codec: "json" }
    }
    assert.deepStrictEqual(redact(told), told)
    assert.deepStrictEqual(redact({ auth: "x", code: "123456", t: "a\0\ud800" }), {
      auth: redacted,
      code: redacted,
      t: "a\uFFFD\uFFFD"
    })
  })
})
