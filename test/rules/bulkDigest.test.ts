import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Schema } from "effect"
import { BulkCriteria } from "../../src/schema/BulkCriteria.ts"
import { criteriaHash, matchDigest, previewValidS, staleness } from "../../src/services/bulkDigest.ts"

const decode = Schema.decodeUnknownSync(BulkCriteria)
const macs = fc.uniqueArray(fc.nat(200).map((i) => `02:00:00:00:00:${i.toString(16).padStart(2, "0")}`), {
  minLength: 1,
  maxLength: 8
})

describe("the hash of criteria", () => {
  it("is one for one choice, in whatever order and notation it is written", () => {
    fc.assert(fc.property(macs, fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (macs, names) => {
      const hostnames = names.map((name) => name.replace(/[\0\p{Cs}]/gu, "x"))
      const one = criteriaHash({ type: "block" }, decode({ macs, hostnames }))
      const other = decode({
        hostnames: [...hostnames, ...hostnames].reverse(),
        macs: [...macs].reverse().map((mac) => mac.toUpperCase().replaceAll(":", "-"))
      })
      assert.strictEqual(criteriaHash({ type: "block" }, other), one)
      assert.match(one, /^sha256:[0-9a-f]{64}$/)
      assert.notStrictEqual(criteriaHash({ type: "quarantine" }, other), one)
      assert.notStrictEqual(criteriaHash({ type: "block" }, decode({ macs })), one)
    }))
  })

  it("is that of RFC 8785 and SHA-256", () => {
    // printf '{"action":{"type":"block"},"criteria":{"all":true}}' | sha256sum
    assert.strictEqual(
      criteriaHash({ type: "block" }, decode({ all: true })),
      "sha256:6c362d07e3aec0567df01c012f82f5720dca8e1e7b879b28c8704d0e66a764cd"
    )
  })
})

describe("the digest of a match", () => {
  it("holds for these clients and until its time alone", () => {
    fc.assert(fc.property(macs, macs, fc.nat(1e9), (clients, others, nowS) => {
      const digest = matchDigest(clients, clients.length, nowS + previewValidS)
      assert.isUndefined(staleness(digest, clients, clients.length, nowS))
      assert.strictEqual(staleness(digest, clients, clients.length, nowS + previewValidS + 1), "expired")
      if (JSON.stringify(clients) !== JSON.stringify(others)) {
        assert.strictEqual(staleness(digest, others, others.length, nowS), "drifted")
      }
      assert.strictEqual(staleness(`${digest}0`, clients, clients.length, nowS), "drifted")
    }))
  })
})
