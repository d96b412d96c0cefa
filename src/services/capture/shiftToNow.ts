/** The event moved in time by so many milliseconds. */
export const shiftEvent = <E extends { readonly event_time: string }>(event: E, shift_ms: number): E => ({
  ...event,
  event_time: new Date(Date.parse(event.event_time) + shift_ms).toISOString()
})

/** Moves a recording in time so that its last event is at `now_ms`; the times between its events stay as they are. */
export const shiftToNow = <E extends { readonly event_time: string }>(
  events: ReadonlyArray<E>,
  now_ms: number
): ReadonlyArray<E> => {
  let last_ms = -Infinity
  for (const event of events) last_ms = Math.max(last_ms, Date.parse(event.event_time))
  return events.map((event) => shiftEvent(event, now_ms - last_ms))
}
