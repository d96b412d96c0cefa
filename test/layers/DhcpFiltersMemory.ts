import { Effect, Layer, Schema } from "effect"
import { type DhcpFilter, DhcpFilterDraft, type DhcpFilterId, dhcpFiltersMax } from "../../src/schema/DhcpFilter.ts"
import type { UserId } from "../../src/schema/User.ts"
import { DhcpFilters, FilterMissing, TooManyFilters } from "../../src/services/DhcpFilters.ts"
import { type Expected, isExpected, RevisionMismatch } from "../../src/services/Revision.ts"
import { newestOf } from "./AutomationState.ts"

// Drafts pass through JSON as on their way to a database.
const Stored = Schema.parseJson(DhcpFilterDraft)
const stored = (draft: DhcpFilterDraft) => Schema.decodeSync(Stored)(Schema.encodeSync(Stored)(draft))

export const DhcpFiltersMemory = Layer.sync(DhcpFilters, () => {
  const rows = new Map<DhcpFilterId, { readonly userId: UserId; readonly filter: DhcpFilter }>()
  const ofUser = (userId: UserId) =>
    [...rows.values()].filter((row) => row.userId === userId).map(({ filter }) => filter)
  const get = (userId: UserId, id: DhcpFilterId) =>
    Effect.suspend(() => {
      const row = rows.get(id)
      return row?.userId === userId ? Effect.succeed(row.filter) : Effect.fail(new FilterMissing())
    })
  const getExpected = (userId: UserId, id: DhcpFilterId, expected: Expected) =>
    Effect.filterOrFail(
      get(userId, id),
      ({ revision }) => isExpected(expected, revision),
      ({ revision }) => new RevisionMismatch({ revision })
    )
  const save = (userId: UserId, filter: DhcpFilter) => {
    rows.set(filter.id, { userId, filter })
    return filter
  }
  return DhcpFilters.of({
    create: ({ at, draft, id, userId }) =>
      Effect.suspend(() =>
        ofUser(userId).length >= dhcpFiltersMax
          ? Effect.fail(new TooManyFilters())
          : Effect.succeed(save(userId, { id, ...stored(draft), revision: 1, created_at: at, updated_at: at }))
      ),
    get,
    list: (userId, page) =>
      Effect.suspend(() => newestOf(ofUser(userId), page, ({ created_at, id }) => ({ at: created_at, id }))),
    update: (userId, id, { at, expected, update: { name, rules } }) =>
      Effect.map(getExpected(userId, id, expected), (filter) =>
        save(userId, {
          ...filter,
          ...stored({ name: name ?? filter.name, rules }),
          revision: filter.revision + 1,
          updated_at: at
        })),
    remove: (userId, id, expected) => Effect.map(getExpected(userId, id, expected), () => void rows.delete(id)),
    revisions: (ids) =>
      Effect.sync(() =>
        new Map(ids.flatMap((id) => {
          const row = rows.get(id)
          return row === undefined ? [] : [[id, row.filter.revision] as const]
        }))
      )
  })
})
