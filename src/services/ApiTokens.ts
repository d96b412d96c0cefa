import { Context, type DateTime, type Effect, type Option } from "effect"
import type { ApiToken, ApiTokenId } from "../schema/ApiToken.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { User, UserId } from "../schema/User.ts"

/** Tokens of programs, known by their hashes; each acts for its owner and with no more than its scopes. */
export class ApiTokens extends Context.Tag("services/ApiTokens")<
  ApiTokens,
  {
    /** `tokenHash` is the SHA-256 of the token in hex: the token itself is stored nowhere. */
    readonly create: (token: ApiToken, userId: UserId, tokenHash: string) => Effect.Effect<void>
    /** The token that hasn't expired, of an owner who isn't disabled; records the use to the minute. One round trip. */
    readonly resolve: (
      tokenHash: string,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<{ readonly token: ApiToken; readonly user: User }>>
    /** Tokens of the user, newest first, expired ones too. */
    readonly list: (userId: UserId, page: PageRequest) => Effect.Effect<Page<ApiToken>, InvalidCursor>
    /** None where the user has no such token. */
    readonly get: (id: ApiTokenId, userId: UserId) => Effect.Effect<Option.Option<ApiToken>>
    /** False where the user has no such token. */
    readonly remove: (id: ApiTokenId, userId: UserId) => Effect.Effect<boolean>
  }
>() {}
