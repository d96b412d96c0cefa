import { DateTime, Duration, Effect, Layer, Stream } from "effect"
import { Action, ActionId } from "../../src/schema/Action.ts"
import type { BulkItem, BulkJob, JobId } from "../../src/schema/BulkJob.ts"
import { decodeCursor, encodeCursor, InvalidCursor } from "../../src/schema/Page.ts"
import { ActionLimits } from "../../src/services/ActionLimits.ts"
import { type ActionOrder, keyOfOrder } from "../../src/services/ActionOrders.ts"
import { actionAt } from "../../src/services/Actions.ts"
import { BulkJobs, JobMissing, JobStateRefused, stateAfter } from "../../src/services/BulkJobs.ts"
import { AutomationState, AutomationStateMemory, newestOf } from "./AutomationState.ts"
import { placeInMemory } from "./ordersMemory.ts"

interface Item extends BulkItem {
  readonly before?: DateTime.Utc | null
  readonly after?: DateTime.Utc | null
}

interface Held {
  job: BulkJob
  readonly items: Array<Item>
}

const isOpen = ({ status }: BulkJob) => status === "scheduled" || status === "running"
const sameTime = (a: DateTime.Utc | null, b: DateTime.Utc | null) =>
  a === null || b === null ? a === b : DateTime.Equivalence(a, b)

const pending = { status: "pending", detail: "", action_id: null } as const
const fresh = { processed: 0, succeeded: 0, skipped: 0, failed: 0, error: "", finished_at: null } as const

export const BulkJobsMemory = Layer.effect(
  BulkJobs,
  Effect.gen(function*() {
    const state = yield* AutomationState
    const limits = yield* ActionLimits
    const held = new Map<JobId, Held>()
    const find = (id: JobId) => {
      const found = held.get(id)
      return found === undefined ? Effect.fail(new JobMissing({ id })) : Effect.succeed(found)
    }

    const apply = (job: BulkJob, items: ReadonlyArray<Item>, at: DateTime.Utc): ReadonlyArray<Item> => {
      const { duration_minutes, tag, type } = job.action
      const expires_at = duration_minutes === undefined
        ? null
        : DateTime.addDuration(at, Duration.minutes(duration_minutes))
      const orders = items.map(({ client, client_mac }): ActionOrder => ({
        id: ActionId.make(crypto.randomUUID()),
        type,
        tag: tag ?? null,
        client,
        client_mac,
        expires_at
      }))
      const placed = placeInMemory(state, limits, orders, {
        at,
        reason: job.reason,
        origin: { kind: "bulk_job", id: job.id }
      })
      return items.map((item, index): Item => {
        const order = orders[index]!
        const before = placed.held.get(keyOfOrder(order))
        const refusal = placed.refused.find((refusal) => refusal.order === order)
        if (refusal !== undefined) return { ...item, status: "skipped", detail: refusal.reason }
        if (!placed.changed.includes(order)) return { ...item, status: "skipped", detail: "in_force" }
        return {
          ...item,
          status: "succeeded",
          detail: before === undefined ? "created" : "prolonged",
          action_id: before?.id ?? order.id,
          before: before?.expires_at ?? null,
          after: expires_at
        }
      })
    }

    const restore = (job: BulkJob, items: ReadonlyArray<Item>, at: DateTime.Utc): ReadonlyArray<Item> =>
      items.map((item): Item => {
        const was = held.get(job.undo_of!)!.items.find((other) =>
          other.action_id === item.action_id && other.status === "succeeded"
        )!
        const action = state.actions.get(ActionId.make(item.action_id!))!
        if (actionAt(action, at).status !== "active" || !sameTime(action.expires_at, was.after!)) {
          return { ...item, status: "skipped", detail: "changed_since" }
        }
        const ends = was.detail === "created"
        const restored = ends
          ? { ...action, status: "removed" as const, ended_at: at }
          : { ...action, expires_at: was.before! }
        state.actions.set(action.id, new Action({ ...restored, synced_at: null, enforced_at: [] }))
        return { ...item, status: "succeeded", detail: ends ? "removed" : "restored" }
      })

    const step = (found: Held, at: DateTime.Utc, count: number): number | null => {
      const { items, job } = found
      if (job.status !== "running") return null
      const next = items.slice(job.processed, job.processed + count)
      const done = (job.kind === "undo" ? restore : apply)(job, next, at)
      done.forEach((item) => items[item.position] = item)
      const dealt = items.slice(0, job.processed + next.length)
      const tally = (status: BulkItem["status"]) => dealt.filter((item) => item.status === status).length
      const refused = dealt.filter(({ detail }) => detail === "protected" || detail === "hourly_cap").length
      const after = { ...job, processed: dealt.length, succeeded: tally("succeeded"), skipped: tally("skipped") }
      const status = stateAfter(after, refused)
      found.job = { ...after, status, finished_at: status === "running" ? null : at }
      return status === "running" ? after.processed : null
    }

    const cancel = (found: Held, at: DateTime.Utc) => {
      if (!isOpen(found.job)) return Effect.fail(new JobStateRefused({ status: found.job.status }))
      found.job = { ...found.job, status: "cancelled", finished_at: at }
      return Effect.succeed(found.job)
    }

    return BulkJobs.of({
      create: (job, clients) =>
        Effect.sync(() => {
          const runs = job.scheduled_at === null
          const made: BulkJob = {
            ...fresh,
            ...job,
            kind: "apply",
            undo_of: null,
            status: runs ? "running" : "scheduled",
            started_at: runs ? job.created_at : null,
            total: clients.length
          }
          held.set(job.id, {
            job: made,
            items: clients.map((client, position) => ({ ...client, ...pending, position }))
          })
          return made
        }),
      get: (id) => Effect.map(find(id), ({ job }) => job),
      list: (query) =>
        Effect.suspend(() =>
          newestOf(
            [...held.values()].map(({ job }) => job).filter(({ status }) => (query.status ?? status) === status),
            query,
            ({ created_at, id }) => ({ at: created_at, id })
          )
        ),
      items: (id, { cursor, limit }) =>
        Effect.flatMap(find(id), ({ items }) => {
          const [after] = cursor === undefined ? [-1] : decodeCursor(cursor, 1) ?? []
          if (typeof after !== "number") return Effect.fail(new InvalidCursor())
          const page = items.filter(({ position }) => position > after).slice(0, limit)
          const last = page.at(-1)?.position ?? items.length
          const next = last + 1 < items.length ? encodeCursor([last]) : null
          return Effect.succeed({ items: page, total: items.length, next })
        }),
      cancel: (id, at) => Effect.flatMap(find(id), (found) => cancel(found, at)),
      cancelAll: (at) =>
        Effect.sync(() => {
          const open = [...held.values()].filter(({ job }) => isOpen(job))
          for (const found of open) found.job = { ...found.job, status: "cancelled", finished_at: at }
          return open.length
        }),
      undo: (id, undo) =>
        Effect.flatMap(find(id), ({ items, job }) => {
          const undone = [...held.values()].some((other) => other.job.undo_of === id)
          if (job.kind === "undo" || isOpen(job) || undone) {
            return Effect.fail(new JobStateRefused({ status: job.status }))
          }
          const { action, criteria, criteria_hash } = job
          const made: BulkJob = {
            ...fresh,
            ...undo,
            kind: "undo",
            undo_of: id,
            status: "running",
            action,
            criteria,
            criteria_hash,
            total: job.succeeded,
            scheduled_at: null,
            started_at: undo.created_at
          }
          const done = items.filter(({ status }) => status === "succeeded")
          held.set(undo.id, {
            job: made,
            items: done.map(({ action_id, client, client_mac }, position) => ({
              ...pending,
              client,
              client_mac,
              action_id,
              position
            }))
          })
          return Effect.succeed(made)
        }),
      running: (at) =>
        Effect.sync(() => {
          for (const found of held.values()) {
            const { job } = found
            if (job.status === "scheduled" && DateTime.lessThanOrEqualTo(job.scheduled_at!, at)) {
              found.job = { ...job, status: "running", started_at: at }
            }
          }
          return [...held.values()].filter(({ job }) => job.status === "running").map(({ job }) => job.id)
        }),
      step: (id, at, clients) => Effect.map(Effect.orDie(find(id)), (found) => step(found, at, clients)),
      fail: (id, at, error) =>
        Effect.map(Effect.orDie(find(id)), (found) => {
          if (found.job.status === "running") found.job = { ...found.job, status: "failed", error, finished_at: at }
        }),
      changes: Stream.never
    })
  })
).pipe(Layer.provide(AutomationStateMemory))
