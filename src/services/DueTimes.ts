import { Cron, DateTime } from "effect"
import { millisOf, type RuleSchedule } from "../schema/Schedule.ts"

type CronSchedule = Extract<RuleSchedule, { readonly type: "cron" }>

interface ZonedCron {
  readonly zone: DateTime.TimeZone
  readonly inZone: Cron.Cron
  /** The expression at a fixed distance from UTC; undefined where the hours are restricted. */
  readonly atOffset: ((offsetMillis: number) => Cron.Cron) | undefined
}

const known = new Map<string, ZonedCron>()
const knownMax = 10_000

/** A zone has a handful of offsets. */
const offsetCrons = (cron: string) => {
  const made = new Map<number, Cron.Cron>()
  return (offset: number): Cron.Cron => {
    const parsed = made.get(offset) ?? Cron.unsafeParse(cron, DateTime.zoneMakeOffset(offset))
    made.set(offset, parsed)
    return parsed
  }
}

const zonedCron = ({ cron, timezone }: CronSchedule): ZonedCron => {
  const key = `${timezone} ${cron}`
  const found = known.get(key)
  if (found !== undefined) return found
  const zone = DateTime.zoneUnsafeMakeNamed(timezone)
  const inZone = Cron.unsafeParse(cron, zone)
  const everyHour = inZone.hours.size === 0 || inZone.hours.size === 24
  const made = {
    zone,
    inZone,
    atOffset: everyHour ? offsetCrons(cron) : undefined
  }
  if (known.size >= knownMax) known.clear()
  known.set(key, made)
  return made
}

const offsetAt = (zone: DateTime.TimeZone, millis: number): number =>
  DateTime.zonedOffset(DateTime.unsafeMakeZoned(millis, { timeZone: zone }))

/** The first instant in (from, to] at which the zone's offset is no longer that of `from`. */
const transition = (zone: DateTime.TimeZone, from: number, to: number): number => {
  const before = offsetAt(zone, from)
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(zone, middle) === before) low = middle
    else high = middle
  }
  return high
}

/** All times at which the zone's clocks show the expression, in a repeated hour both: at one offset after the other. */
const nextShown = (zone: DateTime.TimeZone, atOffset: (offset: number) => Cron.Cron, afterMillis: number): number => {
  let [after, offset] = [afterMillis, offsetAt(zone, afterMillis)]
  while (true) {
    const next = Cron.next(atOffset(offset), new Date(after)).getTime()
    if (offsetAt(zone, next) === offset) return next
    const changed = transition(zone, after, next)
    offset = offsetAt(zone, changed)
    after = changed - 1
  }
}

const repeatedHoursMax = 4

/** In a repeated hour `Cron.next` goes back to its first pass: what is named there was due then, so it goes on behind. */
const nextNamed = (zone: DateTime.TimeZone, inZone: Cron.Cron, afterMillis: number): number => {
  const next = Cron.next(inZone, new Date(afterMillis)).getTime()
  if (next > afterMillis) return next
  const before = afterMillis - repeatedHoursMax * 3_600_000
  const changed = transition(zone, before, afterMillis)
  const behind = changed + offsetAt(zone, before) - offsetAt(zone, changed)
  return Cron.match(inZone, new Date(behind)) ? behind : Cron.next(inZone, new Date(behind)).getTime()
}

/**
 * An expression that names hours fires once a day for each of them: a time that the spring change leaves out fires as
 * much later, one that the autumn change repeats fires the first time. One for every hour fires in the repeated hour too.
 */
const nextCron = (schedule: CronSchedule, afterMillis: number): number => {
  const { atOffset, inZone, zone } = zonedCron(schedule)
  return atOffset === undefined ? nextNamed(zone, inZone, afterMillis) : nextShown(zone, atOffset, afterMillis)
}

/**
 * The first time after this one at which a rule is due, in Unix milliseconds; none for a manual one. Intervals are due
 * at the multiples of their length since 1970, so that neither edits nor restarts shift them.
 */
export const nextDue = (schedule: RuleSchedule, afterMillis: number): number | undefined => {
  switch (schedule.type) {
    case "manual":
      return undefined
    case "interval": {
      const every = millisOf(schedule.every)!
      return (Math.floor(afterMillis / every) + 1) * every
    }
    case "cron":
      return nextCron(schedule, afterMillis)
  }
}

/** All due times after one time up to and including another, in order. */
export const duesIn = (schedule: RuleSchedule, afterMillis: number, throughMillis: number): ReadonlyArray<number> => {
  const dues: Array<number> = []
  let due = nextDue(schedule, afterMillis)
  while (due !== undefined && due <= throughMillis) {
    dues.push(due)
    due = nextDue(schedule, due)
  }
  return dues
}

/** Due times: the latest ones each by itself, and where there were more, the range that holds the earlier ones. */
export interface Dues {
  readonly each: ReadonlyArray<number>
  readonly earlier: { readonly first: number; readonly through: number } | undefined
}

/** The due times of a stretch, at most `max` of them each by itself. */
export const latestDues = (
  schedule: RuleSchedule,
  afterMillis: number,
  throughMillis: number,
  max: number
): Dues => {
  const first = nextDue(schedule, afterMillis)
  if (first === undefined || first > throughMillis) return { each: [], earlier: undefined }
  // Nothing is due more than once a second, so the first stretch can't hold too many; each further one is longer.
  let from = throughMillis
  let length = max * 1000
  let each: Array<number> = []
  while (each.length < max && from > afterMillis) {
    const start = Math.max(afterMillis, from - length)
    each = [...duesIn(schedule, start, from), ...each]
    from = start
    length *= 4
  }
  each = each.slice(-max)
  const oldest = each[0] ?? throughMillis + 1
  return { each, earlier: first < oldest ? { first, through: oldest - 1 } : undefined }
}
