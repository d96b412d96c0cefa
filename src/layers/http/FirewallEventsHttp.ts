import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { FirewallIngest } from "../../services/FirewallEvents.ts"
import { group } from "./group.ts"
import { ingestStream } from "./ingestStream.ts"

export const FirewallEventsHttp = group(
  Api,
  "firewallEvents",
  (handlers) => Effect.map(FirewallIngest, (ingest) => handlers.handleRaw("ingest", ingestStream(ingest)))
)
