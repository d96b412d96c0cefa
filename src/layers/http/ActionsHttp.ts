import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { ActionId } from "../../schema/Action.ts"
import { canonicalDuid } from "../../schema/Duid.ts"
import { canonicalMac } from "../../schema/Mac.ts"
import { Actions } from "../../services/Actions.ts"
import { invalidCursor } from "./cursor.ts"
import { group } from "./group.ts"
import { idFrom } from "./ids.ts"

const actionId = idFrom(ActionId, "action")

export const ActionsHttp = group(
  Api,
  "actions",
  Effect.fnUntraced(function*(handlers) {
    const actions = yield* Actions
    return handlers
      .handle("list", ({ urlParams }) =>
        actions.list({
          ...urlParams,
          client: urlParams.client && (canonicalMac(urlParams.client) ?? canonicalDuid(urlParams.client) ?? "unknown")
        }).pipe(Effect.catchTag("Page/InvalidCursor", invalidCursor)))
      .handle("get", ({ path }) =>
        actionId.parse(path.id).pipe(
          Effect.flatMap(actions.get),
          Effect.catchTag("Actions/ActionMissing", actionId.missing)
        ))
  })
)
