import type { ArrayFormatterIssue } from "effect/ParseResult"
import type { Violation } from "../../api/problems.ts"

/** Most violations that one answer lists. */
const violationsMax = 200

/** Most unknown fields that one answer names: their names are the caller's own words. */
const unknownMax = 10

/** Longest message of a violation, in UTF-16 units. */
const messageMax = 300

const pointerOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("").slice(0, 256)

/** What was expected, without the value that was sent instead. */
const withoutActual = (message: string): string => {
  const line = message.split("\n", 1)[0]!
  const target = /^Unable to decode .* into (.{1,100})$/.exec(line)?.[1]
  if (target !== undefined) return `Expected ${target}`
  // V8 quotes what it could not parse.
  if (/\bJSON\b/.test(line)) return "Expected JSON"
  const actual = line.indexOf(", actual ")
  const expected = actual === -1 ? line : line.slice(0, actual)
  if (expected.startsWith("Expected { ")) return "Expected an object"
  return expected.replace("is unexpected, expected: ", "Unknown field; known are ")
}

const whole = /^Expected (?:undefined|an object|"[^"]*")$/

const alternative = /^Expected (.+)$/

/**
 * The messages on a place that help: that it might be absent doesn't, nor that it might be another member of a union
 * when something in it is wrong.
 */
const helpful = (pointer: string, messages: ReadonlyArray<string>, pointers: ReadonlyArray<string>) => {
  const below = pointers.some((other) => other.startsWith(`${pointer}/`))
  const present = messages.filter((message) => message !== "Expected undefined")
  if (below) return messages.filter((message) => !whole.test(message))
  return present.length > 0 ? present : messages
}

/** The messages on one place as one: the members of a union each say what they would have taken. */
const merged = (messages: ReadonlyArray<string>): string => {
  const distinct = [...new Set(messages)]
  const expected = distinct.map((message) => alternative.exec(message)?.[1])
  if (distinct.length === 1 || expected.includes(undefined)) return distinct.join("; ").slice(0, messageMax)
  return `Expected ${expected.slice(0, -1).join(", ")} or ${expected.at(-1)}`.slice(0, messageMax)
}

/** What is wrong with a part of a request, each place once, without the values that were sent. */
export const violationsOf = (
  place: Violation["in"],
  issues: ReadonlyArray<ArrayFormatterIssue>
): ReadonlyArray<Violation> => {
  const places = new Map<string, Array<string>>()
  let unknown = 0
  for (const issue of issues) {
    const pointer = pointerOf(issue.path)
    const message = withoutActual(issue.message)
    const known = places.get(pointer)
    if (known === undefined && message.startsWith("Unknown field") && unknown++ >= unknownMax) continue
    if (known !== undefined) known.push(message)
    else if (places.size < violationsMax) places.set(pointer, [message])
  }
  const pointers = [...places.keys()]
  return [...places].flatMap(([pointer, messages]) => {
    const kept = helpful(pointer, messages, pointers)
    return kept.length === 0 ? [] : [{ in: place, pointer, message: merged(kept) }]
  })
}
