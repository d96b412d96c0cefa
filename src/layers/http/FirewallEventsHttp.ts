import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { FirewallIngest } from "../../services/FirewallEvents.ts"
import { ingestStream } from "./ingestStream.ts"

export const FirewallEventsHttp = HttpApiBuilder.group(
  Api,
  "firewallEvents",
  (handlers) => Effect.map(FirewallIngest, (ingest) => handlers.handleRaw("ingest", ingestStream(ingest)))
)
