import { Context } from "effect"
import type { Endpoint } from "../../api/endpoints.ts"
import type { Credential } from "../../services/Authenticator.ts"

/** What the boundary knows of the request that a fiber works on; `user` and `credential` are filled in by the authentication. */
export interface RequestFacts {
  readonly id: string
  readonly operation: Endpoint | undefined
  user: string | undefined
  credential: Credential | undefined
}

export class CurrentRequest extends Context.Reference<CurrentRequest>()("http/CurrentRequest", {
  defaultValue: (): RequestFacts => ({ id: "-", operation: undefined, user: undefined, credential: undefined })
}) {}
