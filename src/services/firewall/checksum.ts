import { createHash } from "node:crypto"
import { isJson } from "./commands.ts"

const sorted = (_key: string, value: unknown): unknown =>
  isJson(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0))
    : value

/** `sha256:` and hex over the JSON with sorted keys: equal for what is equal as JSON. */
export const checksumOf = (value: unknown): string =>
  `sha256:${createHash("sha256").update(JSON.stringify(value, sorted)).digest("hex")}`
