import { DateTime, Effect, Layer, Option } from "effect"
import { type IpRestrictionId, restrictionsMax, type Rule } from "../../src/schema/IpRestriction.ts"
import type { UserId } from "../../src/schema/User.ts"
import {
  type Admit,
  IpRestrictions,
  RestrictionMissing,
  RestrictionRefused,
  TooManyRestrictions,
  type Versioned
} from "../../src/services/IpRestrictions.ts"
import { type Expected, isExpected, RevisionMismatch } from "../../src/services/Revision.ts"

export const IpRestrictionsMemory = Layer.sync(IpRestrictions, () => {
  const rows = new Map<IpRestrictionId, Versioned>()
  let revision = 1
  const text = ({ id, priority, type }: Rule) => `${type} ${String(priority).padStart(6, "0")} ${id}`
  const ofUser = (userId: UserId) =>
    [...rows.values()].map(({ entry }) => entry).filter((entry) => entry.user_id === userId)
      .sort((a, b) => text(a) < text(b) ? -1 : 1)

  const change = <A>(
    id: IpRestrictionId,
    expected: Expected,
    admit: Admit,
    after: (entries: ReadonlyArray<Rule>) => ReadonlyArray<Rule>,
    write: (row: Versioned) => A
  ) =>
    Effect.gen(function*() {
      const row = rows.get(id)
      if (row === undefined) return yield* new RestrictionMissing()
      if (!isExpected(expected, row.revision)) return yield* new RevisionMismatch({ revision: row.revision })
      if (!admit(after(ofUser(row.entry.user_id)))) return yield* new RestrictionRefused()
      revision++
      return write(row)
    })

  return IpRestrictions.of({
    create: Effect.fnUntraced(function*({ at, by, draft, id, userId }, admit) {
      const entries: ReadonlyArray<Rule> = ofUser(userId)
      if (entries.length >= restrictionsMax) return yield* new TooManyRestrictions()
      if (!admit([...entries, { ...draft, id }])) return yield* new RestrictionRefused()
      revision++
      const entry = {
        ...draft,
        id,
        user_id: userId,
        created_by: by,
        created_at: at,
        updated_at: at,
        last_matched_at: null,
        match_count: 0
      }
      rows.set(id, { entry, revision: 1 })
      return { entry, revision: 1 }
    }),
    get: (id) => Effect.sync(() => Option.fromNullable(rows.get(id))),
    ofUser: (userId) => Effect.sync(() => ofUser(userId)),
    setEnabled: (id, { at, enabled, expected }, admit) =>
      change(
        id,
        expected,
        admit,
        (entries) => entries.map((entry) => entry.id === id ? { ...entry, enabled } : entry),
        (row) => {
          const changed = { entry: { ...row.entry, enabled, updated_at: at }, revision: row.revision + 1 }
          rows.set(id, changed)
          return changed
        }
      ),
    remove: (id, expected, admit) =>
      change(id, expected, admit, (entries) => entries.filter((entry) => entry.id !== id), () => void rows.delete(id)),
    revision: Effect.sync(() => revision),
    enabled: Effect.sync(() => {
      const rules = new Map<UserId, Array<Rule>>()
      for (const { entry } of rows.values()) {
        if (entry.enabled) rules.set(entry.user_id, [...rules.get(entry.user_id) ?? [], entry])
      }
      return { revision, rules }
    }),
    countMatches: (matches) =>
      Effect.sync(() => {
        for (const { count, id, last } of matches) {
          const row = rows.get(id)
          if (row === undefined) continue
          const seen = row.entry.last_matched_at
          rows.set(id, {
            ...row,
            entry: {
              ...row.entry,
              match_count: row.entry.match_count + count,
              last_matched_at: seen === null ? last : DateTime.max(seen, last)
            }
          })
        }
      })
  })
})
