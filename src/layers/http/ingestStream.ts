import type { HttpServerError, HttpServerRequest } from "@effect/platform"
import { Effect, type Stream } from "effect"
import { CurrentUser } from "../../api/Auth.ts"
import { IngestInterrupted } from "../../api/problems.ts"
import type { IngestVerdict } from "../../schema/IngestVerdict.ts"
import type { IngestStopped } from "../../services/Ingest.ts"
import { requestOctets } from "./requestOctets.ts"

const interrupted = ({ resumeLine, verdict }: IngestStopped) =>
  new IngestInterrupted({
    detail: `The store failed at line ${resumeLine}; ${verdict.accepted} events before it are stored`,
    accepted: verdict.accepted,
    rejected: verdict.rejected,
    resume_line: resumeLine
  })

type Lines = <E>(
  octets: Stream.Stream<Uint8Array, E>,
  key?: string | undefined
) => Effect.Effect<IngestVerdict, IngestStopped | E>

/** The handler of a stream of lines; an idempotency key counts for its user alone. */
export const ingestStream = ({ lines }: { readonly lines: Lines }) =>
  Effect.fnUntraced(function*({ headers, request }: {
    readonly headers: { readonly "idempotency-key"?: string | undefined }
    readonly request: HttpServerRequest.HttpServerRequest
  }) {
    const user = yield* CurrentUser
    const key = headers["idempotency-key"]
    return yield* lines<HttpServerError.RequestError>(
      requestOctets(request),
      key === undefined ? undefined : `${user.id}:${key}`
    ).pipe(
      Effect.tapErrorTag("Ingest/IngestStopped", ({ cause }) => Effect.logWarning("ingest stopped", cause)),
      Effect.catchTag("Ingest/IngestStopped", interrupted),
      Effect.catchTag("RequestError", Effect.die)
    )
  })
