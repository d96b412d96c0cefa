import { HttpApi, OpenApi } from "@effect/platform"
import { Boundary } from "./Contract.ts"
import { endpointsOf } from "./endpoints.ts"
import { ActionsApi } from "./groups/ActionsApi.ts"
import { AlarmsApi } from "./groups/AlarmsApi.ts"
import { ApiTokensApi } from "./groups/ApiTokensApi.ts"
import { AuditApi } from "./groups/AuditApi.ts"
import { AccountApi, SignInApi } from "./groups/AuthApi.ts"
import { AutomationApi } from "./groups/AutomationApi.ts"
import { BulkApi } from "./groups/BulkApi.ts"
import { DhcpEventsApi } from "./groups/DhcpEventsApi.ts"
import { DhcpFiltersApi } from "./groups/DhcpFiltersApi.ts"
import { EventsApi } from "./groups/EventsApi.ts"
import { FirewallApi } from "./groups/FirewallApi.ts"
import { FirewallEventsApi } from "./groups/FirewallEventsApi.ts"
import { IpRestrictionsApi } from "./groups/IpRestrictionsApi.ts"
import { MetricsApi } from "./groups/MetricsApi.ts"
import { NotificationsApi } from "./groups/NotificationsApi.ts"
import { RetentionApi } from "./groups/RetentionApi.ts"
import { HealthApi, OperationsApi } from "./groups/SystemApi.ts"
import { FeedbackApi, UserApi } from "./groups/UserApi.ts"
import { UsersApi } from "./groups/UsersApi.ts"
import { polish } from "./openapi.ts"

const groups = HttpApi.make("netops")
  .add(SignInApi)
  .add(AccountApi)
  .add(ApiTokensApi)
  .add(UsersApi)
  .add(DhcpEventsApi)
  .add(DhcpFiltersApi)
  .add(AutomationApi)
  .add(AlarmsApi)
  .add(BulkApi)
  .add(ActionsApi)
  .add(EventsApi)
  .add(NotificationsApi)
  .add(FirewallEventsApi)
  .add(MetricsApi)
  .add(RetentionApi)
  .add(FirewallApi)
  .add(IpRestrictionsApi)
  .add(UserApi)
  .add(FeedbackApi)
  .add(AuditApi)
  .add(HealthApi)
  .add(OperationsApi)
  .middleware(Boundary)

/** What the declarations of all endpoints say beside their schemas. */
export const endpoints = endpointsOf(groups)

/** Every endpoint of the service; the server, the derived client and the OpenAPI document are made from it. */
export class Api extends groups.annotateContext(OpenApi.annotations({
  title: "Network Operations API",
  version: "0.1.0",
  description: "Management service of a network-monitoring installation centred on DHCP clients.",
  license: { name: "Apache-2.0", identifier: "Apache-2.0" } as { readonly name: string },
  transform: (spec) => polish(spec, endpoints)
})) {}
