import { Schema } from "effect"
import { Permission, permissionsOf, Role } from "./Permission.ts"

export const UserId = Schema.Int.pipe(Schema.positive(), Schema.brand("UserId"))
export type UserId = typeof UserId.Type

/** A login name: letters, digits and `._@-`, 1 to 64; names that differ only in case are one. */
export const Username = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z0-9._@-]{1,64}$/, {
    message: () => "Expected 1 to 64 of the characters A-Z a-z 0-9 . _ @ -"
  }),
  Schema.brand("Username")
)
export type Username = typeof Username.Type

/** Shortest and longest password that can be set, in characters. */
export const passwordLength = { min: 12, max: 256 } as const

export const Password = Schema.String.pipe(
  Schema.minLength(passwordLength.min),
  Schema.maxLength(passwordLength.max),
  Schema.annotations({ description: `A password of ${passwordLength.min} to ${passwordLength.max} characters` })
)

export class User extends Schema.Class<User>("User")({
  id: UserId,
  username: Username,
  role: Role,
  disabled: Schema.Boolean,
  created_at: Schema.DateTimeUtc,
  revision: Schema.Int.annotations({ description: "counts changes, of the password too" })
}) {
  get permissions(): ReadonlyArray<Permission> {
    return permissionsOf(this.role)
  }
}

/** A user as the API answers it. */
export const UserAnswer = Schema.Struct(User.fields).annotations({ identifier: "User" })

/** A user acting through a token that gives no more than its scopes. */
export class ScopedUser extends User.extend<ScopedUser>("ScopedUser")({ scopes: Schema.Array(Permission) }) {
  override get permissions(): ReadonlyArray<Permission> {
    return super.permissions.filter((permission) => this.scopes.includes(permission))
  }
}

/** The user object of a login result (specification 2.8). */
export const UserSummary = Schema.Struct({
  id: UserId,
  username: Username,
  role: Role,
  permissions: Schema.Array(Permission)
}).annotations({ identifier: "UserSummary" })
export type UserSummary = typeof UserSummary.Type

export const summaryOf = (user: User): UserSummary => ({
  id: user.id,
  username: user.username,
  role: user.role,
  permissions: user.permissions
})
