import { HttpApiBuilder, HttpApiSwagger } from "@effect/platform"
import { Layer } from "effect"
import { Api } from "../../api/Api.ts"
import { ActionsHttp } from "./ActionsHttp.ts"
import { AlarmsHttp } from "./AlarmsHttp.ts"
import { AuditHttp } from "./AuditHttp.ts"
import { AuthenticationLive } from "./AuthenticationLive.ts"
import { AccountHttp, SignInHttp } from "./AuthHttp.ts"
import { AutomationHttp } from "./AutomationHttp.ts"
import { BoundaryLive } from "./Boundary.ts"
import { BulkHttp } from "./BulkHttp.ts"
import { CrossOriginLive } from "./CrossOrigin.ts"
import { DhcpEventsHttp } from "./DhcpEventsHttp.ts"
import { DhcpFiltersHttp } from "./DhcpFiltersHttp.ts"
import { EventsHttp } from "./EventsHttp.ts"
import { ExecutionLive } from "./Execution.ts"
import { FirewallEventsHttp } from "./FirewallEventsHttp.ts"
import { FirewallHttp } from "./FirewallHttp.ts"
import { IdempotencyLive } from "./Idempotency.ts"
import { IpRestrictionsHttp } from "./IpRestrictionsHttp.ts"
import { DrainOnClose } from "./Listener.ts"
import { MetricsHttp } from "./MetricsHttp.ts"
import { NotificationsHttp } from "./NotificationsHttp.ts"
import { documentPaths } from "./Operations.ts"
import { RetentionHttp } from "./RetentionHttp.ts"
import { HealthHttp, OperationsHttp } from "./SystemHttp.ts"
import { FeedbackHttp, UserHttp } from "./UserHttp.ts"
import { ApiTokensHttp, UsersHttp } from "./UsersHttp.ts"

/** The API with its handlers; what is left to provide is exactly the service tags. */
export const ApiLive = HttpApiBuilder.api(Api).pipe(
  Layer.provide([
    SignInHttp,
    AccountHttp,
    ApiTokensHttp,
    UsersHttp,
    DhcpEventsHttp,
    DhcpFiltersHttp,
    AutomationHttp,
    AlarmsHttp,
    BulkHttp,
    ActionsHttp,
    EventsHttp,
    NotificationsHttp,
    FirewallEventsHttp,
    MetricsHttp,
    RetentionHttp,
    FirewallHttp,
    IpRestrictionsHttp,
    UserHttp,
    FeedbackHttp,
    AuditHttp,
    HealthHttp,
    OperationsHttp
  ]),
  Layer.provide([AuthenticationLive, BoundaryLive]),
  Layer.provide(ExecutionLive),
  Layer.provide(IdempotencyLive)
)

/** The OpenAPI document and its pages, which need nothing from the internet. */
export const DocumentsLive = Layer.merge(
  HttpApiBuilder.middlewareOpenApi({ path: documentPaths.openapi }),
  HttpApiSwagger.layer({ path: documentPaths.docs })
)

/** The API and its documents, served. */
export const HttpLive = HttpApiBuilder.serve().pipe(
  Layer.provide([DocumentsLive, CrossOriginLive]),
  (served) => Layer.provideMerge(DrainOnClose, served)
)
