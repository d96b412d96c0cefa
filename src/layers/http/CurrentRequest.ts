import { Context, Effect } from "effect"
import type { Endpoint } from "../../api/endpoints.ts"
import type { UserId } from "../../schema/User.ts"
import type { Credential } from "../../services/Authenticator.ts"

/** What a handler tells of the change that it makes, for the audit trail and the answer's `ETag`. */
export interface ChangeNotes {
  target?: string | undefined
  before?: unknown
  after?: unknown
  reason?: string | undefined
  revision?: number | undefined
  /** Whose account a request without a token was about. */
  account?: { readonly id: UserId; readonly username: string } | undefined
}

/** What the boundary knows of a request; `user` and `credential` are filled in by the authentication. */
export interface RequestFacts {
  readonly id: string
  readonly operation: Endpoint | undefined
  /** Address of the client; none where the peer has no address. */
  readonly address: string | undefined
  user: string | undefined
  credential: Credential | undefined
  readonly notes: ChangeNotes
}

export class CurrentRequest extends Context.Reference<CurrentRequest>()("http/CurrentRequest", {
  defaultValue: (): RequestFacts => ({
    id: "-",
    operation: undefined,
    address: undefined,
    user: undefined,
    credential: undefined,
    notes: {}
  })
}) {}

/** The canonical address of the client of the request at hand, `::` where it has none. */
export const clientAddress = Effect.map(CurrentRequest, ({ address }) => address ?? "::")

/** Adds to what is known of the change at hand. */
export const note = (notes: ChangeNotes): Effect.Effect<void> =>
  Effect.map(CurrentRequest, (facts) => void Object.assign(facts.notes, notes))
