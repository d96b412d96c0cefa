/** The times that are accepted, as canonical instants, both inclusive: their texts sort as the times do. */
export interface EventWindow {
  readonly oldest: string | undefined
  readonly latest: string
}

/** How far ahead of our clock an event may be. */
export const aheadMax_ms = 24 * 3_600_000

/**
 * The last time that an event may have: the store counts its time to live in seconds up to February 2106, and would
 * take what is kept for at most three years from then on for long past.
 */
export const lastStorable = "2102-12-31T23:59:59.999Z"

/** The window at `now_ms`; without `oldest_ms` there is no limit to the past. */
export const eventWindow = (now_ms: number, oldest_ms?: number): EventWindow => ({
  oldest: oldest_ms === undefined ? undefined : new Date(oldest_ms).toISOString(),
  latest: new Date(now_ms + aheadMax_ms).toISOString()
})

/** Why the event's time is refused, `undefined` when it isn't. */
export const outsideWindow = (
  event: { readonly event_time: string },
  window: EventWindow
): string | undefined => {
  if (event.event_time > lastStorable) return "event_time: is after 2102, which is past what can be stored"
  if (event.event_time > window.latest) {
    return "event_time: is more than 24 hours ahead of the server's clock; check the sender's clock"
  }
  if (window.oldest !== undefined && event.event_time < window.oldest) {
    return "event_time: is older than what is kept; to replay a recording, move it to the present " +
      "(netops ingest --shift-to-now)"
  }
  return undefined
}
