import { FastCheck as fc, Schema } from "effect"
import { actionTypes, durationMinutesMax } from "../../../src/schema/Action.ts"
import { lookbackMinutesMax, RuleDraft } from "../../../src/schema/AutomationRule.ts"
import { isRequest, messageTypes, protocols } from "../../../src/schema/DhcpEvent.ts"
import { mac } from "./dhcpEvent.ts"
import { filterJson } from "./filter.ts"

const shown = (max: number) =>
  fc.oneof(
    fc.constantFrom("busy clients", "it's", "\"quoted\"", "back\\slash", "%_*", "日本", "😀", "e\u0301", "__proto__"),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: max })
  ).filter((text) => /^[^\p{C}]+$/u.test(text) && text.length <= max)

const description = fc.string({ unit: "binary", maxLength: 200 }).filter((text) => /^[^\0\p{Cs}]*$/u.test(text))

const count = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(1, 1_000_000_000))
const operator = fc.constantFrom("and" as const, "or" as const)
const threshold = fc.oneof(
  fc.record({ min_requests: count, operator }, { requiredKeys: ["min_requests"] }),
  fc.record({ min_unique_ips: count, operator }, { requiredKeys: ["min_unique_ips"] }),
  fc.record({ min_requests: count, min_unique_ips: count, operator })
)

const schedule = fc.oneof(
  fc.constant({ type: "manual" as const }),
  fc.constantFrom("5s", "90s", "5m", "24h", "7d").map((every) => ({ type: "interval" as const, every })),
  fc.record({
    type: fc.constant("cron" as const),
    cron: fc.constantFrom("*/5 * * * *", "0 0 29 2 *", "30 0 3 * * 1"),
    timezone: fc.constantFrom("UTC", "Europe/Berlin", "America/St_Johns")
  }, { requiredKeys: ["type", "cron"] })
)

const exclude = fc.record({
  macs: fc.array(mac, { maxLength: 3 }),
  ouis: fc.array(fc.constantFrom("02:bd:00", "00-0C-01", "aabbcc"), { maxLength: 3 }),
  subnets: fc.array(fc.constantFrom("192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32"), { maxLength: 3 }),
  randomized: fc.boolean()
}, { requiredKeys: [] })

const duration_minutes = fc.oneof(fc.integer({ min: 1, max: 120 }), fc.constant(durationMinutesMax))
const tag = fc.constantFrom("watched", "vlan:20", "Floor/3")

/** Actions as users may write them, the bare type among them. */
export const actionSpec = fc.oneof(
  fc.constantFrom(...actionTypes).filter((type) => type !== "tag"),
  fc.record({ type: fc.constantFrom("block", "quarantine", "allow"), duration_minutes }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("tag"), tag, duration_minutes }, { requiredKeys: ["type", "tag"] })
)

const draftJson = fc.record({
  name: shown(120),
  description,
  enabled: fc.boolean(),
  mode: fc.constantFrom("simulate", "enforce"),
  protocol: fc.constantFrom(...protocols, "both"),
  lookback_minutes: fc.integer({ min: 1, max: lookbackMinutesMax }),
  schedule,
  threshold,
  message_types: fc.uniqueArray(fc.constantFrom(...messageTypes), { minLength: 1, maxLength: 5 })
    .filter((types) => types.some(isRequest)),
  filter: filterJson,
  exclude,
  cooldown_minutes: fc.integer({ min: 0, max: lookbackMinutesMax }),
  max_detections: fc.integer({ min: 1, max: 10_000 }),
  actions: fc.array(actionSpec, { maxLength: 4 }),
  severity: fc.constantFrom("info", "warning", "critical"),
  tags: fc.array(shown(64), { maxLength: 3 })
}, { requiredKeys: ["name", "threshold"] })

/** Rules as a user may state them, decoded. */
export const ruleDraft: fc.Arbitrary<RuleDraft> = draftJson.map((json) => Schema.decodeUnknownSync(RuleDraft)(json))
