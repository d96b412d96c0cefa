import { Schema } from "effect"
import { Problem } from "./Problem.ts"

/** One thing wrong with a request: where (`pointer` is an RFC 6901 pointer below `in`) and what is expected. */
export const Violation = Schema.Struct({
  in: Schema.Literal("path", "query", "headers", "body"),
  pointer: Schema.String,
  message: Schema.String
}).annotations({ identifier: "Violation" })
export type Violation = typeof Violation.Type

export class InvalidRequest extends Problem<InvalidRequest>()(
  "InvalidRequest",
  {
    status: 400,
    title: "The request does not match the declared schema",
    help: "`errors` names every place that is wrong and what is expected there. Correct them all and send again."
  },
  { errors: Schema.Array(Violation) }
) {}

export class Unauthenticated extends Problem<Unauthenticated>()("Unauthenticated", {
  status: 401,
  title: "Authentication is required or the token is invalid",
  help: "Send `Authorization: Bearer <token>` with a token from `POST /api/auth/login`; sign in again when it expired."
}) {}

export class InvalidCredentials extends Problem<InvalidCredentials>()("InvalidCredentials", {
  status: 401,
  title: "The username or the password is wrong",
  help: "Check both. The answer is the same for an unknown user and for a wrong password."
}) {}

export class Forbidden extends Problem<Forbidden>()(
  "Forbidden",
  {
    status: 403,
    title: "The permission is missing",
    help: "`permission` names what the operation needs. An administrator can give you a role that has it."
  },
  { permission: Schema.String }
) {}

export class NotFound extends Problem<NotFound>()("NotFound", {
  status: 404,
  title: "The requested resource was not found",
  help: "The id is unknown, malformed, or belongs to somebody else; or nothing is served at this path."
}) {}

export class MethodNotAllowed extends Problem<MethodNotAllowed>()("MethodNotAllowed", {
  status: 405,
  title: "The method is not served on this path",
  help: "The `Allow` header of the answer names the methods that are."
}) {}

export class RequestTimeout extends Problem<RequestTimeout>()("RequestTimeout", {
  status: 408,
  title: "The request did not arrive in time",
  help: "The body was not complete within the time limit. Send it again over a faster connection."
}) {}

export class PayloadTooLarge extends Problem<PayloadTooLarge>()("PayloadTooLarge", {
  status: 413,
  title: "The request body exceeds the limit",
  help: "Send a smaller body; events of any number go to `POST /api/dhcp/events` as a stream."
}) {}

export class UnsupportedMediaType extends Problem<UnsupportedMediaType>()("UnsupportedMediaType", {
  status: 415,
  title: "The media type of the body is not accepted",
  help: "Name the type of the body in `Content-Type`: `application/json`, or what the operation documents."
}) {}

export class HeadersTooLarge extends Problem<HeadersTooLarge>()("HeadersTooLarge", {
  status: 431,
  title: "The request headers exceed the limit",
  help: "Send fewer or shorter headers: 16 KiB in all."
}) {}

export class Internal extends Problem<Internal>()("Internal", {
  status: 500,
  title: "Internal server error",
  help: "The failure was logged under the request id of the answer; give it to whoever operates the service."
}) {}

export class Unavailable extends Problem<Unavailable>()("Unavailable", {
  status: 503,
  title: "A backing service cannot be reached",
  help: "Postgres, ClickHouse or the packet filter does not answer. Try again after the time in `Retry-After`."
}) {}

export class IngestInterrupted extends Problem<IngestInterrupted>()(
  "IngestInterrupted",
  {
    status: 503,
    title: "The store failed midway",
    help:
      "The lines before `resume_line` are dealt with: `accepted` of them are stored. Send again from there; or send all again with the same Idempotency-Key, what is stored already is not stored twice."
  },
  {
    accepted: Schema.NonNegativeInt,
    rejected: Schema.NonNegativeInt,
    resume_line: Schema.Int.annotations({ description: "first line, counted from 1, that is not dealt with" })
  }
) {}

export * from "./problems/identity.ts"
