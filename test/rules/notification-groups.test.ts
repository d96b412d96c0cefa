import { assert, describe, it } from "@effect/vitest"
import { DateTime, FastCheck as fc } from "effect"
import { promDuration } from "../../src/schema/PromDuration.ts"
import { momentOf, type ServiceEvent, serviceEvent } from "../../src/schema/ServiceEvent.ts"
import {
  add,
  alertKeyOf,
  emptyGroup,
  flush,
  type Group,
  groupKeyOf,
  labelsOf,
  type Timing
} from "../../src/services/notify/groups.ts"

const types = ["retention.disk.warning", "retention.disk.recovered", "notification.test"] as const

const eventAt = (second: number, subject: string, type: (typeof types)[number]): ServiceEvent =>
  serviceEvent(`${second}/${subject}/${type}`, {
    type,
    subject,
    severity: "warning",
    time: DateTime.unsafeMake(second * 1000),
    data: type === "notification.test"
      ? { message: "" }
      : { used_percent: 1, total_bytes: 1, used_bytes: 1, free_bytes: 1 }
  } as never)

const scripts = fc.record({
  events: fc.array(
    fc.record({
      second: fc.integer({ min: 1, max: 300 }),
      subject: fc.constantFrom("a", "b"),
      type: fc.constantFrom(...types)
    }),
    { maxLength: 12 }
  ),
  mutes: fc.array(fc.record({ from: fc.nat(300), to: fc.nat(300), subject: fc.constantFrom("a", "b") }), {
    maxLength: 2
  }),
  wait: fc.integer({ min: 0, max: 40 }),
  interval: fc.integer({ min: 1, max: 60 }),
  repeat: fc.integer({ min: 1, max: 120 }),
  send_resolved: fc.boolean()
})
type Script = typeof scripts extends fc.Arbitrary<infer S> ? S : never

const timingOf = ({ interval, repeat, send_resolved, wait }: Script): Timing => ({
  group_wait: promDuration(wait * 1000) || "0s",
  group_interval: promDuration(interval * 1000),
  repeat_interval: promDuration(repeat * 1000),
  send_resolved
})

const listed = ({ events }: Script) =>
  events.map(({ second, subject, type }, index) => ({
    second,
    event: { ...eventAt(second, subject, type), id: String(index) }
  }))
    .sort((a, b) => a.second - b.second)

interface Sent {
  readonly second: number
  readonly id: string
  readonly reason: string
}

const mutedAt = (script: Script, second: number) => (event: ServiceEvent) =>
  script.mutes.some(({ from, subject, to }) => second >= from && second < to && event.subject === subject)

/** The group as the dispatcher keeps it, a step each second. */
const run = (script: Script): ReadonlyArray<Sent> => {
  const timing = timingOf(script)
  const sent: Array<Sent> = []
  let group: Group | undefined
  for (let second = 0; second <= 600; second++) {
    const now = second * 1000
    for (const { event } of listed(script).filter((each) => each.second === second)) {
      group = add(group ?? emptyGroup({}, timing, now), event, now)
    }
    if (group === undefined || group.flushAt > now) continue
    const flushed = flush(group, timing, mutedAt(script, second), now)
    for (const { event, reason } of flushed.sent) sent.push({ second, id: event.id, reason })
    group = flushed.group
  }
  return sent
}

/** What Alertmanager's documentation says, written down as plainly as can be: lists, and the ticks of one clock. */
const model = (script: Script): ReadonlyArray<Sent> => {
  const sent: Array<Sent> = []
  let next: number | undefined
  let last = 0
  let waiting: Array<ServiceEvent> = []
  let lasting: Array<{ event: ServiceEvent; told: boolean }> = []
  for (let second = 0; second <= 600; second++) {
    for (const { event } of listed(script).filter((each) => each.second === second)) {
      next ??= second + script.wait
      waiting.push(event)
      const { state } = momentOf(event.type)
      if (state !== "event") lasting = lasting.filter((alert) => alert.event.subject !== event.subject)
      if (state === "firing") lasting.push({ event, told: false })
    }
    if (next === undefined || second < next) continue
    const muted = mutedAt(script, second)
    const resolvedOut = (event: ServiceEvent) => event.type !== "retention.disk.recovered" || script.send_resolved
    const late = lasting.filter(({ event, told }) => !told && !waiting.includes(event)).map(({ event }) => event)
    const news = [...late, ...waiting].filter((event) => resolvedOut(event) && !muted(event))
    for (const alert of lasting) if (news.includes(alert.event)) alert.told = true
    waiting = []
    const again = news.length === 0 && second - last >= script.repeat
      ? lasting.filter(({ event, told }) => told && !muted(event)).map(({ event }) => event)
      : []
    for (const { id } of news) sent.push({ second, id, reason: "new" })
    for (const { id } of again) sent.push({ second, id, reason: "repeat" })
    if (news.length + again.length > 0) last = second
    next = news.length + again.length + lasting.length === 0 ? undefined : second + script.interval
    if (next === undefined) last = 0
  }
  return sent
}

const bySecond = (sent: ReadonlyArray<Sent>) =>
  sent.map(({ id, reason, second }) => `${String(second).padStart(3, "0")} ${reason} ${id}`).sort()

describe("notification groups", () => {
  it("send what the model sends, when it does", () => {
    fc.assert(
      fc.property(scripts, (script) => {
        assert.deepStrictEqual(bySecond(run(script)), bySecond(model(script)))
      }),
      { numRuns: 500 }
    )
  })

  it("send each event as new once, in order and in time, where nothing is muted", () => {
    fc.assert(
      fc.property(scripts, (muting) => {
        const script = { ...muting, mutes: [] }
        const sent = run(script).filter(({ reason }) => reason === "new")
        const wanted = listed(script).filter(({ event }) =>
          script.send_resolved || momentOf(event.type).state !== "resolved"
        )
        assert.deepStrictEqual(sent.map(({ id }) => id), wanted.map(({ event }) => event.id))
        sent.forEach(({ second }, index) => {
          assert.isAtLeast(second, wanted[index]!.second)
          assert.isAtMost(second, wanted[index]!.second + Math.max(script.wait, script.interval))
        })
      }),
      { numRuns: 300 }
    )
  })

  it("are never sent twice within the interval, nor repeated before the repeat interval", () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const sent = run(script)
        const times = [...new Set(sent.map(({ second }) => second))]
        times.forEach((second, index) => {
          if (index === 0) return
          const since = second - times[index - 1]!
          // A group that was over begins anew with its wait.
          assert.isAtLeast(since, Math.min(script.interval, script.interval + script.wait))
          if (sent.some((each) => each.second === second && each.reason === "repeat")) {
            assert.isAtLeast(since, script.repeat)
          }
        })
      }),
      { numRuns: 300 }
    )
  })

  it("share the labels that they are grouped by", () => {
    const event = eventAt(1, "disk/node", "retention.disk.warning")
    assert.deepStrictEqual(labelsOf({ group_by: ["severity", "client"] }, event), { severity: "warning" })
    assert.deepStrictEqual(labelsOf({ group_by: ["..."] }, event), { alert: "retention.disk", subject: "disk/node" })
    assert.strictEqual(groupKeyOf({ b: "1", a: "2" }), groupKeyOf({ a: "2", b: "1" }))
    assert.strictEqual(alertKeyOf(event), alertKeyOf(eventAt(9, "disk/node", "retention.disk.recovered")))
  })
})
