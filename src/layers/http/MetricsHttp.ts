import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../api/Api.ts"
import { CurrentUser } from "../../api/Auth.ts"
import { InvalidRequest } from "../../api/problems.ts"
import { TooManyQueries } from "../../api/problems/metrics.ts"
import type { MetricsParams } from "../../schema/MetricsQuery.ts"
import {
  MetricsAnswers,
  type MetricsAsked,
  type MetricsQueryRefused,
  type TooManyMetricsQueries
} from "../../services/MetricsAnswers.ts"
import { group } from "./group.ts"

const refused = ({ message, pointer }: MetricsQueryRefused) =>
  new InvalidRequest({
    detail: `The query is not valid at ${pointer}: ${message}`,
    errors: [{ in: "query", pointer, message }]
  })

const tooMany = ({ max }: TooManyMetricsQueries) =>
  new TooManyQueries({ detail: `You have ${max} metric queries running, as many as one user may` })

/** Answers are of our own making and as their schemas say (the tests prove it), so they aren't encoded once more. */
const respond = <Filter>(
  answer: (asked: MetricsAsked<Filter>) => Effect.Effect<unknown, MetricsQueryRefused | TooManyMetricsQueries>
) =>
({ urlParams: { filters, ...params } }: {
  readonly urlParams: MetricsParams & { readonly filters?: Filter | "" | undefined }
}) =>
  Effect.flatMap(
    CurrentUser,
    ({ id }) => answer({ params, filter: filters === "" ? undefined : filters, userId: id })
  ).pipe(
    Effect.map((body) => HttpServerResponse.unsafeJson(body, { headers: { "cache-control": "no-store" } })),
    Effect.catchTags({ "Metrics/QueryRefused": refused, "Metrics/TooManyQueries": tooMany })
  )

export const MetricsHttp = group(
  Api,
  "metrics",
  Effect.fnUntraced(function*(handlers) {
    const answers = yield* MetricsAnswers
    return handlers
      .handle("alarmStats", respond(answers.alarmStats))
      .handle("uniqueIps", respond(answers.uniqueIps))
      .handle("inboundOutboundRatio", respond(answers.inboundOutboundRatio))
  })
)
