import { Context } from "effect"
import type { Operation } from "./Operations.ts"

/** What the boundary knows of the request that a fiber works on; `user` is filled in by the authentication. */
export interface RequestFacts {
  readonly id: string
  readonly operation: Operation | undefined
  user: string | undefined
}

export class CurrentRequest extends Context.Reference<CurrentRequest>()("http/CurrentRequest", {
  defaultValue: (): RequestFacts => ({ id: "-", operation: undefined, user: undefined })
}) {}
