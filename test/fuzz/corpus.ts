import { FastCheck as fc } from "effect"

/** Texts that break what handles them without care. */
export const hostileTexts: ReadonlyArray<string> = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "\ufeff",
  "\u202e\u2066",
  "../../../../etc/passwd",
  "..%2f..%2fetc%2fpasswd",
  "%00",
  "%",
  "%zz",
  "' OR 1=1 --",
  "'; DROP TABLE users; --",
  "\\'; SELECT sleep(5); --",
  "{{7*7}}${7*7}<%= 7*7 %>",
  "<script>alert(1)</script>",
  "\r\nSet-Cookie: a=b",
  "$(reboot)`reboot`|reboot",
  "__proto__",
  "constructor",
  "toString",
  "NaN",
  "-Infinity",
  "1e400",
  "9007199254740993",
  "-1",
  "0x7f000001",
  "2147483648",
  "99999999999999999999999999",
  "0000-00-00T00:00:00Z",
  "9999-12-31T23:59:60Z",
  "+275760-09-13T00:00:00.001Z",
  "00:00:00:00:00:00",
  "::ffff:127.0.0.1",
  "169.254.169.254",
  "a".repeat(5000),
  "é".repeat(3000),
  "👩‍👩‍👧‍👦".repeat(200)
]

/** Values that stand where another type is expected. */
export const hostileValues: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53 + 2,
  1e308,
  [],
  {},
  [[]],
  { __proto__: null, constructor: { prototype: { polluted: 1 } } },
  Array.from({ length: 1000 }, (_, n) => n),
  ...hostileTexts
]

const deep = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)

/** Bodies that are no good JSON, or are it in an evil way; none of them is a value that an operation takes. */
export const hostileBodies: ReadonlyArray<string | Uint8Array> = [
  "",
  "{",
  "null",
  "[]",
  "\"text\"",
  "1",
  "{}x",
  "{\"a\":1,}",
  "{'a':1}",
  "\ufeff{}",
  "NaN",
  deep("[", "]", 200_000),
  deep("{\"a\":", "}", 200_000),
  `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"unknown_field":1}`,
  `{"unknown_field":${"9".repeat(400)}}`,
  `{"unknown_field":"${"x".repeat(100_000)}"}`,
  `{${Array.from({ length: 5000 }, (_, n) => `"unknown_${n}":${n}`).join(",")}}`,
  new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
  new Uint8Array([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
  new Uint8Array([0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00])
]

/** Media types that are not JSON, each with a body of its kind. */
export const hostileMedia: ReadonlyArray<readonly [string, string]> = [
  ["text/plain", "{}"],
  ["application/x-www-form-urlencoded", "a=1&b=2"],
  ["multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n"],
  ["application/json; charset=utf-16", "{}"],
  ["application/xml", "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>"]
]

type Path = ReadonlyArray<string | number>

const pathsOf = (value: unknown, path: Path = []): ReadonlyArray<Path> => {
  if (typeof value !== "object" || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, child]) => pathsOf(child, [...path, key]))]
}

const replaced = (value: unknown, [key, ...rest]: Path, by: unknown): unknown => {
  if (key === undefined) return by
  const copy = Array.isArray(value) ? [...value as Array<unknown>] : { ...value as object }
  const child = replaced((value as Record<string, unknown>)[key], rest, by)
  if (child === undefined) delete (copy as Record<string, unknown>)[key]
  else Object.defineProperty(copy, key, { value: child, enumerable: true, configurable: true, writable: true })
  return copy
}

/** A value with one place of it removed or set to something hostile, or with a field that nobody knows. */
export const mutated = (value: unknown): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...pathsOf(value)), fc.constantFrom(...hostileValues)) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...pathsOf(value)), fc.constant(undefined)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant<Path>(["unknown_field"]), fc.constant(1)) }
  ).map(([path, by]) => typeof value === "object" && value !== null ? replaced(value, path, by) ?? null : by ?? null)
