import { Effect, Layer } from "effect"
import { type FirewallConfigId, type FirewallRevision } from "../../src/schema/FirewallConfig.ts"
import {
  FirewallConfigMissing,
  FirewallConfigs,
  type FirewallRecord,
  type FirewallStanding,
  type FirewallState,
  type FirewallVersion,
  notApplied,
  ownedBy,
  TableOwned
} from "../../src/services/FirewallConfigs.ts"
import { isExpected, RevisionMismatch } from "../../src/services/Revision.ts"
import { newestOf } from "./AutomationState.ts"

interface Stored {
  readonly id: FirewallConfigId
  readonly revisions: Array<FirewallRevision>
  state: FirewallState
  deleted: boolean
  edition: number
}

const revisionOf = (version: number, { at, by, checksum, draft }: FirewallVersion): FirewallRevision => ({
  ...draft,
  ruleset: JSON.parse(JSON.stringify(draft.ruleset)),
  version,
  checksum,
  created_by: by,
  created_at: at
})

export const FirewallConfigsMemory = Layer.effect(
  FirewallConfigs,
  Effect.gen(function*() {
    const configs = new Map<string, Stored & { tables: ReadonlyArray<string> }>()
    const lock = yield* Effect.makeSemaphore(1)
    const find = (id: string) =>
      Effect.suspend(() => {
        const found = configs.get(id)
        return found === undefined ? Effect.fail(new FirewallConfigMissing({ id })) : Effect.succeed(found)
      })
    const toConfig = (
      { deleted, edition, id, revisions, state, tables }: Stored & { tables: ReadonlyArray<string> }
    ) => {
      const [first, last] = [revisions[0]!, revisions.at(-1)!]
      const { created_at, created_by, ...rest } = last
      return {
        ...rest,
        id,
        edition,
        tables,
        status: state.status,
        is_active: state.status === "active" || state.status === "pending_confirmation" ? 1 : 0,
        is_deleted: deleted ? 1 : 0,
        applied_version: state.applied.version,
        applied_at: state.applied.at,
        confirm_deadline: state.pending?.deadline ?? null,
        created_by: first.created_by,
        updated_by: created_by,
        created_at: first.created_at,
        updated_at: created_at
      } satisfies FirewallRecord
    }
    const toStanding = ({ id, revisions, state }: Stored): FirewallStanding => ({
      id,
      name: revisions.at(-1)!.name,
      ...state
    })
    const byId = (a: Stored, b: Stored) => a.id < b.id ? -1 : 1

    return FirewallConfigs.of({
      create: (id, version) =>
        Effect.sync(() => {
          const state: FirewallState = { status: "draft", applied: notApplied, intent: null, pending: null }
          const stored = {
            id,
            revisions: [revisionOf(1, version)],
            state,
            deleted: false,
            edition: 1,
            tables: version.tables
          }
          configs.set(id, stored)
          return toConfig(stored)
        }),
      get: (id) => Effect.map(find(id), toConfig),
      list: ({ deleted, ...request }) =>
        Effect.map(
          Effect.suspend(() =>
            newestOf(
              [...configs.values()].filter((stored) => deleted || !stored.deleted).map(toConfig),
              request,
              ({ created_at, id }) => ({ at: created_at, id })
            )
          ),
          (page) => ({
            ...page,
            items: page.items.map(({ edition: _edition, ruleset: _ruleset, ...summary }) => summary)
          })
        ),
      update: (id, version, expected) =>
        Effect.flatMap(find(id), (stored): Effect.Effect<FirewallRecord, FirewallConfigMissing | RevisionMismatch> => {
          if (stored.deleted) return Effect.fail(new FirewallConfigMissing({ id }))
          if (!isExpected(expected, stored.edition)) {
            return Effect.fail(new RevisionMismatch({ revision: stored.edition }))
          }
          stored.edition++
          stored.revisions.push(revisionOf(stored.revisions.length + 1, version))
          stored.tables = version.tables
          return Effect.succeed(toConfig(stored))
        }),
      revisions: (id) => Effect.map(find(id), ({ revisions }) => [...revisions].reverse()),
      revision: (id, version) =>
        Effect.flatMap(find(id), ({ revisions }) => {
          const found = revisions.find((revision) => revision.version === version)
          return found === undefined ? Effect.fail(new FirewallConfigMissing({ id })) : Effect.succeed(found)
        }),
      standing: (id) => Effect.map(find(id), toStanding),
      standings: Effect.sync(() =>
        [...configs.values()].filter(({ state }) =>
          state.status === "active" || state.status === "pending_confirmation" || state.intent !== null
        ).sort(byId).map(toStanding)
      ),
      settle: (id, state) =>
        Effect.flatMap(find(id), (stored) => {
          const taken = [...configs.values()].filter((other) => other.id !== id)
            .flatMap((other) => ownedBy(other.state).map((table) => ({ table, owner: other.id })))
            .filter(({ table }) => ownedBy(state).includes(table))
            .sort((a, b) => a.table < b.table ? -1 : 1)[0]
          if (taken !== undefined) return Effect.fail(new TableOwned(taken))
          stored.state = state
          stored.edition++
          return Effect.void
        }),
      setDeleted: (id, deleted) =>
        Effect.map(find(id), (stored) => {
          stored.deleted = deleted
          stored.edition++
        }),
      exclusively: lock.withPermits(1)
    })
  })
)
