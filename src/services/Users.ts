import { Context, Data, type Effect, type Option, type Redacted } from "effect"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { Role } from "../schema/Permission.ts"
import type { User, UserId, Username } from "../schema/User.ts"
import type { Expected, RevisionMismatch } from "./Revision.ts"

export class UsernameTaken extends Data.TaggedError("Users/UsernameTaken")<{ readonly username: Username }> {}
export class UserMissing extends Data.TaggedError("Users/UserMissing")<{ readonly user: Username | UserId }> {}
/** The change would leave no enabled administrator. */
export class LastAdmin extends Data.TaggedError("Users/LastAdmin")<{}> {}

export interface NewUser {
  readonly username: Username
  readonly role: Role
  readonly passwordHash: Redacted.Redacted
}

/** What is to be different of a user; what is undefined stays. */
export interface ChangedUser {
  readonly role?: Role | undefined
  readonly disabled?: boolean | undefined
  readonly passwordHash?: Redacted.Redacted | undefined
}

/** The people and programs that may sign in; usernames are compared without case. */
export class Users extends Context.Tag("services/Users")<
  Users,
  {
    readonly create: (user: NewUser) => Effect.Effect<User, UsernameTaken>
    /** Creates the user only while there are no users at all; none where another node was first. */
    readonly createFirst: (user: NewUser) => Effect.Effect<Option.Option<User>>
    readonly count: Effect.Effect<number>
    readonly list: Effect.Effect<ReadonlyArray<User>>
    /** By id. */
    readonly page: (request: PageRequest) => Effect.Effect<Page<User>, InvalidCursor>
    readonly get: (id: UserId) => Effect.Effect<Option.Option<User>>
    readonly findCredentials: (
      username: string
    ) => Effect.Effect<Option.Option<{ readonly user: User; readonly passwordHash: Redacted.Redacted }>>
    readonly setPassword: (username: Username, passwordHash: Redacted.Redacted) => Effect.Effect<User, UserMissing>
    /** Changes a user unless no enabled administrator would be left, also when several change at once. */
    readonly change: (
      id: UserId,
      change: ChangedUser,
      expected: Expected
    ) => Effect.Effect<User, UserMissing | LastAdmin | RevisionMismatch>
  }
>() {}
