import { Arbitrary, DateTime, FastCheck as fc, Schema } from "effect"
import {
  eventCatalogue,
  type EventDraft,
  type EventType,
  eventTypes,
  severities
} from "../../../src/schema/ServiceEvent.ts"

/** Texts without what Postgres can't hold, and numbers that JSON can. */
const storable = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replace(/\\u(?:0000|d[89a-f][0-9a-f]{2})/gi, "x").replace(/[\0\p{Cs}]/gu, "x"))

const dataOf = (type: EventType) =>
  Arbitrary.make(eventCatalogue[type] as unknown as Schema.Schema<unknown>).map(storable)

const instant = fc.integer({ min: 0, max: 100 }).map((second) => DateTime.unsafeMake(3_979_000_000_000 + second * 1000))

/** Drafts of any type with any data, on a few subjects. */
export const eventDraft: fc.Arbitrary<EventDraft> = fc.constantFrom(...eventTypes).chain((type) =>
  fc.record({
    type: fc.constant(type),
    subject: fc.constantFrom("a/1", "a/2", "b/1"),
    severity: fc.constantFrom(...severities),
    time: instant,
    data: dataOf(type)
  }) as fc.Arbitrary<never>
)
