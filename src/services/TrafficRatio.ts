import type { Aggregate } from "../schema/MetricsQuery.ts"
import type { TrafficStep } from "./Metrics.ts"

export interface TrafficRatio {
  /** `null` where nothing went out. */
  readonly value: number | null
  readonly min: number
  readonly max: number
  /** Steps that have a ratio. */
  readonly points: number
}

/**
 * Octets in by octets out: `sum` over the range as a whole, the other aggregates over the ratios of its steps. A step
 * in which nothing went out has none.
 */
export const ratioOf = (steps: ReadonlyArray<TrafficStep>, aggregate: Aggregate): TrafficRatio => {
  const ratios = steps.flatMap((step) => step.outbound_bytes === 0 ? [] : [step.inbound_bytes / step.outbound_bytes])
  const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)
  const min = ratios.reduce((least, ratio) => Math.min(least, ratio), ratios[0] ?? 0)
  const max = ratios.reduce((greatest, ratio) => Math.max(greatest, ratio), ratios[0] ?? 0)
  const whole = () => {
    const outbound = sum(steps.map((step) => step.outbound_bytes))
    return outbound === 0 ? null : sum(steps.map((step) => step.inbound_bytes)) / outbound
  }
  const value = () => {
    switch (aggregate) {
      case "avg":
        return ratios.length === 0 ? null : sum(ratios) / ratios.length
      case "min":
        return ratios.length === 0 ? null : min
      case "max":
        return ratios.length === 0 ? null : max
      case "last":
        return ratios.at(-1) ?? null
      case "count":
        return ratios.length
      default:
        return whole()
    }
  }
  return { value: value(), min, max, points: ratios.length }
}
