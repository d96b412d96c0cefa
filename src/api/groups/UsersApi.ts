import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { PageOf, PageQuery } from "../../schema/Page.ts"
import { Role } from "../../schema/Permission.ts"
import { Password, UserAnswer, Username } from "../../schema/User.ts"
import { Authentication } from "../Auth.ts"
import { body, path, query, requires, traits } from "../Contract.ts"
import { wire } from "../Problem.ts"
import { NotFound } from "../problems.ts"
import { IdempotencyInFlight, IdempotencyKeyReused, PreconditionFailed } from "../problems/access.ts"
import { LastAdministrator, UsernameTaken } from "../problems/identity.ts"

const userPath = path({ id: Schema.String })

export class UsersApi extends HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/api/users")
      .setUrlParams(query(PageQuery))
      .addSuccess(PageOf(UserAnswer))
      .annotate(OpenApi.Summary, "List users")
      .annotate(OpenApi.Description, "By id.")
      .annotateContext(requires("users:manage"))
  )
  .add(
    HttpApiEndpoint.post("create", "/api/users")
      .setPayload(body(Schema.Struct({ username: Username, role: Role, password: Password })))
      .addSuccess(UserAnswer, { status: 201 })
      .addError(wire(UsernameTaken))
      .addError(wire(IdempotencyInFlight))
      .addError(wire(IdempotencyKeyReused))
      .annotate(OpenApi.Summary, "Create a user")
      .annotate(
        OpenApi.Description,
        "Passwords are stored as argon2id alone, so a request that comes again under its `Idempotency-Key` with another password is taken for the same."
      )
      .annotateContext(traits("idempotent", "atomic", "versioned"))
      .annotateContext(requires("users:manage"))
  )
  .add(
    HttpApiEndpoint.get("get", "/api/users/:id")
      .setPath(userPath)
      .addSuccess(UserAnswer)
      .addError(wire(NotFound))
      .annotate(OpenApi.Summary, "Read a user")
      .annotateContext(traits("versioned"))
      .annotateContext(requires("users:manage"))
  )
  .add(
    HttpApiEndpoint.patch("update", "/api/users/:id")
      .setPath(userPath)
      .setPayload(body(Schema.Struct({
        role: Schema.optional(Role),
        disabled: Schema.optional(Schema.Boolean),
        password: Schema.optional(Password)
      })))
      .addSuccess(UserAnswer)
      .addError(wire(NotFound))
      .addError(wire(LastAdministrator))
      .addError(wire(PreconditionFailed))
      .annotate(OpenApi.Summary, "Change a user")
      .annotate(
        OpenApi.Description,
        "Takes effect at once, on every node: a disabled user and one with a new password lose all sessions, and a role binds from the next request on. The last enabled administrator can't be disabled or demoted."
      )
      .annotateContext(traits("atomic", "versioned"))
      .annotateContext(requires("users:manage"))
  )
  .middleware(Authentication)
  .annotateContext(OpenApi.annotations({ title: "Users", description: "Who may sign in, and as what." }))
{}
