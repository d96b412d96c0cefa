import canonicalize from "canonicalize"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { AuditEntry, type AuditFault, type AuditHead, type AuditVerdict } from "../schema/AuditEntry.ts"

/** A link of the chain: `hash` is SHA-256 over the hash before it, a line feed, and its entries (RFC 8785). */
export interface AuditBatch {
  readonly number: number
  readonly previous_hash: string
  readonly hash: string
  readonly entry_ids: ReadonlyArray<string>
  /** SHA-256 of each entry, by which a changed one is named. */
  readonly entry_hashes: ReadonlyArray<string>
}

export const firstPreviousHash = "0".repeat(64)

/** Most faults that a verdict lists. */
const faultsMax = 100

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

const encode = Schema.encodeSync(AuditEntry)

const canonical = (entry: AuditEntry): string => canonicalize(encode(entry)) as string

const hashOf = (previous: string, rows: ReadonlyArray<string>): string => sha256(`${previous}\n[${rows.join(",")}]`)

/** Seals entries in the order given. */
export const sealEntries = (number: number, previous: string, entries: ReadonlyArray<AuditEntry>): AuditBatch => {
  const rows = entries.map(canonical)
  return {
    number,
    previous_hash: previous,
    hash: hashOf(previous, rows),
    entry_ids: entries.map(({ id }) => id),
    entry_hashes: rows.map(sha256)
  }
}

const faultsOf = (batch: AuditBatch, previous: string, entries: ReadonlyMap<string, AuditEntry>) => {
  const faults: Array<AuditFault> = []
  const rows: Array<string> = []
  batch.entry_ids.forEach((id, index) => {
    const entry = entries.get(id)
    const row = entry === undefined ? "" : canonical(entry)
    rows.push(row)
    if (entry === undefined) faults.push({ kind: "entry_missing", batch: batch.number, entry: id })
    else if (sha256(row) !== batch.entry_hashes[index]) {
      faults.push({ kind: "entry_changed", batch: batch.number, entry: id })
    }
  })
  const intact = batch.previous_hash === previous && batch.hash === hashOf(previous, rows) &&
    batch.entry_hashes.length === rows.length
  return intact || faults.length > 0 && batch.previous_hash === previous
    ? faults
    : [...faults, { kind: "batch_changed" as const, batch: batch.number, entry: null }]
}

interface Loaded {
  readonly batches: ReadonlyArray<AuditBatch>
  readonly entries: ReadonlyArray<AuditEntry>
}

/** Follows the chain from its first batch, some batches at a time. */
export const checkChain = Effect.fnUntraced(function*(chain: {
  readonly load: (after: number) => Effect.Effect<Loaded>
  readonly head: AuditHead | undefined
  readonly stray: ReadonlyArray<string>
  readonly unsealed: number
}): Effect.fn.Return<AuditVerdict> {
  const faults: Array<AuditFault> = chain.stray.map((entry) => ({ kind: "entry_added", batch: null, entry }))
  let last = null as AuditHead | null
  let sealed = 0
  let batchCount = 0
  let headSeen = chain.head === undefined
  while (true) {
    const { batches, entries }: Loaded = yield* chain.load(last?.batch ?? 0)
    if (batches.length === 0) break
    const byId = new Map(entries.map((entry) => [entry.id, entry]))
    for (const batch of batches) {
      const expected: number = (last?.batch ?? 0) + 1
      for (let missing = expected; missing < batch.number && faults.length < faultsMax; missing++) {
        faults.push({ kind: "batch_missing", batch: missing, entry: null })
      }
      faults.push(...faultsOf(batch, last?.hash ?? firstPreviousHash, byId))
      if (chain.head?.batch === batch.number && chain.head?.hash === batch.hash) headSeen = true
      last = { batch: batch.number, hash: batch.hash }
      sealed += batch.entry_ids.length
      batchCount++
    }
  }
  if (!headSeen) faults.push({ kind: "head_missing", batch: chain.head?.batch ?? null, entry: null })
  return {
    valid: faults.length === 0,
    batches: batchCount,
    entries: sealed,
    unsealed: chain.unsealed,
    head: last,
    faults: faults.slice(0, faultsMax)
  }
})
