import canonicalize from "canonicalize"
import { Schema } from "effect"
import { createHash } from "node:crypto"
import type { ActionSpec } from "../schema/Action.ts"
import { BulkCriteria } from "../schema/BulkCriteria.ts"

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

const encodeCriteria = Schema.encodeSync(BulkCriteria)

/** Lists in order and each value once, so that criteria which choose alike for that reason hash alike. */
export const normalised = (criteria: BulkCriteria): BulkCriteria => {
  const { filter, ...rest } = criteria
  const sorted = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? [...new Set(value as ReadonlyArray<string>)].sort() : value])
  return { ...Object.fromEntries(sorted), ...(filter === undefined ? {} : { filter }) } as BulkCriteria
}

/** `sha256:` and the hash over the RFC 8785 form of the normalised action and criteria. */
export const criteriaHash = (action: ActionSpec, criteria: BulkCriteria): string =>
  `sha256:${sha256(canonicalize({ action, criteria: encodeCriteria(normalised(criteria)) })!)}`

/** How long a preview holds. */
export const previewValidS = 900

/** Names a set of clients, and the time until which the preview that saw it holds. */
export const matchDigest = (clients: ReadonlyArray<string>, total: number, untilS: number): string =>
  `v1.${untilS}.${sha256(JSON.stringify([total, clients]))}`

/** Whether the digest is of another set, or of a preview that has expired; `undefined` when it holds. */
export const staleness = (
  digest: string,
  clients: ReadonlyArray<string>,
  total: number,
  nowS: number
): "drifted" | "expired" | undefined => {
  const untilS = Number(/^v1\.(\d{1,12})\.[0-9a-f]{64}$/.exec(digest)?.[1])
  if (Number.isNaN(untilS) || matchDigest(clients, total, untilS) !== digest) return "drifted"
  return nowS > untilS || untilS > nowS + previewValidS ? "expired" : undefined
}
