const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 } as const
const units_desc = ["y", "w", "d", "h", "m", "s", "ms"] as const

const shape = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/

/** Milliseconds of a Prometheus duration (`90s`, `1h30m`, units from the largest down), `undefined` where it is none. */
export const promMillis = (text: string): number | undefined => {
  if (text === "" || text.length > 40) return undefined
  const counts = shape.exec(text)?.slice(1)
  return counts?.reduce((sum, count, index) => sum + Number(count ?? 0) * units[units_desc[index]!], 0)
}

const written = ["d", "h", "m", "s", "ms"] as const

/** The shortest Prometheus duration of a positive number of milliseconds. */
export const promDuration = (millis: number): string => {
  let rest = millis
  let text = ""
  for (const unit of written) {
    const count = Math.floor(rest / units[unit])
    if (count > 0) text += `${count}${unit}`
    rest -= count * units[unit]
  }
  return text
}
