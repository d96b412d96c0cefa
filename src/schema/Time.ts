import { Schema } from "effect"

const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/
const canonicalShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const daysOf = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The UTC form with milliseconds of an RFC 3339 date-time (finer fractions are cut), else `undefined`. */
export const canonicalInstant = (text: string): string | undefined => {
  if (text.length > 35) return undefined
  const match = shape.exec(text)
  if (match === null) return undefined
  const month = Number(match[2])
  const day = Number(match[3])
  if (month < 1 || month > 12 || day < 1 || day > daysOf[month - 1]! || match[4] === "24") return undefined
  // Without the T, V8 falls back to a parser that takes the year 99 for 1999.
  const time = Date.parse(text.toUpperCase().replace(" ", "T"))
  if (Number.isNaN(time)) return undefined
  const year = Number(match[1])
  if (month === 2 && day === 29 && (year % 4 !== 0 || (year % 100 === 0 && year % 400 !== 0))) return undefined
  if (canonicalShape.test(text)) return text
  const utc = new Date(time).toISOString()
  return canonicalShape.test(utc) ? utc : undefined
}

/**
 * An instant as RFC 3339 text in UTC with milliseconds. Kept as text, not as a `DateTime`: events pass by the
 * hundred thousand a second and the text sorts as the time does.
 */
export const Instant = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) =>
      canonicalInstant(text) !== undefined || "Expected an RFC 3339 time such as 2026-01-31T08:00:00Z"
    )
  ).annotations({ description: "RFC 3339 date-time", jsonSchema: { type: "string", format: "date-time" } }),
  Schema.String.pipe(Schema.pattern(canonicalShape)),
  { strict: true, decode: (text) => canonicalInstant(text) ?? text, encode: (instant) => instant }
)
