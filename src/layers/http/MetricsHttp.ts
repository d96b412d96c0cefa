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

/** Data as JSON, made once for as long as the answer is kept. */
const texts = new WeakMap<object, string>()

const textOf = (data: object): string => {
  const text = texts.get(data) ?? JSON.stringify(data)
  texts.set(data, text)
  return text
}

interface Answer {
  readonly status: string
  readonly data: object
  readonly metadata: object
}

const prepared = ({ data, metadata, status }: Answer) =>
  HttpServerResponse.text(
    `{"status":${JSON.stringify(status)},"data":${textOf(data)},"metadata":${JSON.stringify(metadata)}}`,
    { contentType: "application/json", headers: { "cache-control": "no-store" } }
  )

/** Answers are of our own making and as their schemas say (the tests prove it), so they aren't encoded once more. */
const respond = <Filter>(
  answer: (asked: MetricsAsked<Filter>) => Effect.Effect<Answer, MetricsQueryRefused | TooManyMetricsQueries>
) =>
({ urlParams: { filters, ...params } }: {
  readonly urlParams: MetricsParams & { readonly filters?: Filter | "" | undefined }
}) =>
  Effect.flatMap(
    CurrentUser,
    ({ id }) => answer({ params, filter: filters === "" ? undefined : filters, userId: id })
  ).pipe(
    Effect.map(prepared),
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
