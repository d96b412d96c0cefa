import { Context, type Effect } from "effect"

export const backings = ["postgres", "clickhouse", "nft", "migrations"] as const
export type Backing = (typeof backings)[number]

export interface Verdict {
  readonly ok: boolean
  /** What answers, or why not. */
  readonly detail: string
  /** Whether the service is of no use without it. */
  readonly required: boolean
}

/** Whether what the service stands on answers, asked anew each time and within seconds. */
export class Readiness extends Context.Tag("services/Readiness")<
  Readiness,
  { readonly check: Effect.Effect<Readonly<Record<Backing, Verdict>>> }
>() {}
