import { SqlClient } from "@effect/sql"
import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { type Reservation, SignInAttempts } from "../../services/SignInAttempts.ts"

const decodeInstant = Schema.decodeUnknown(Schema.Array(Schema.Struct({ at: Schema.DateFromSelf })))
const decodeFailures = Schema.decodeUnknown(Schema.Array(Schema.Struct({ failures: Schema.Int })))

/** What is left of the window, at least a second: the row may have gone, or be from a clock ahead of ours. */
const remaining = (rows: ReadonlyArray<{ readonly at: Date }>, window: Duration.Duration, now: DateTime.Utc) => {
  const since = rows[0] === undefined ? Number.NEGATIVE_INFINITY : rows[0].at.getTime()
  return Duration.millis(Math.max(1000, since + Duration.toMillis(window) - DateTime.toEpochMillis(now)))
}

export const SignInAttemptsPg = Layer.effect(
  SignInAttempts,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return SignInAttempts.of({
      admit: Effect.fn("SignInAttempts.admit")(function*(address, { max, window }, now) {
        const at = DateTime.toDateUtc(now)
        const since = DateTime.toDateUtc(DateTime.subtractDuration(now, window))
        const counted = yield* sql`INSERT INTO sign_in_addresses AS a (address, recent, last_attempt_at)
            VALUES (${address}, ARRAY[${at}::timestamptz], ${at})
          ON CONFLICT (address) DO UPDATE
            SET recent = (array_append(a.recent, ${at}::timestamptz))
                [greatest(1, cardinality(a.recent) + 2 - ${max}::int):],
              last_attempt_at = greatest(a.last_attempt_at, ${at})
            WHERE cardinality(a.recent) < ${max}::int OR a.recent[cardinality(a.recent) - ${max}::int + 1] <= ${since}
          RETURNING address`
        if (counted.length === 1) return Option.none()
        const oldest = yield* sql`SELECT recent[greatest(1, cardinality(recent) - ${max}::int + 1)] AS at
          FROM sign_in_addresses WHERE address = ${address}`.pipe(Effect.flatMap(decodeInstant))
        return Option.some(remaining(oldest, window, now))
      }, Effect.orDie),
      reserve: Effect.fn("SignInAttempts.reserve")(function*(account, { max, window }, now) {
        const at = DateTime.toDateUtc(now)
        const since = DateTime.toDateUtc(DateTime.subtractDuration(now, window))
        const counted = yield* sql`INSERT INTO sign_in_accounts AS a (account, failures, last_attempt_at)
            VALUES (${account}, 1, ${at})
          ON CONFLICT (account) DO UPDATE
            SET failures = CASE WHEN a.last_attempt_at <= ${since} THEN 1 ELSE a.failures + 1 END,
              last_attempt_at = greatest(a.last_attempt_at, ${at})
            WHERE a.failures < ${max}::int OR a.last_attempt_at <= ${since}
          RETURNING failures`.pipe(Effect.flatMap(decodeFailures))
        if (counted[0] !== undefined) {
          return { _tag: "Admitted", failures: counted[0].failures } satisfies Reservation
        }
        const last = yield* sql`SELECT last_attempt_at AS at FROM sign_in_accounts WHERE account = ${account}`.pipe(
          Effect.flatMap(decodeInstant)
        )
        return { _tag: "Locked", retryAfter: remaining(last, window, now) } satisfies Reservation
      }, Effect.orDie),
      release: (account) =>
        Effect.orDie(
          sql`UPDATE sign_in_accounts SET failures = failures - 1 WHERE account = ${account} AND failures > 0`
        ),
      clear: (account) => Effect.orDie(sql`DELETE FROM sign_in_accounts WHERE account = ${account}`),
      purge: Effect.fn("SignInAttempts.purge")(function*(before) {
        const at = DateTime.toDateUtc(before)
        yield* sql`DELETE FROM sign_in_accounts WHERE last_attempt_at <= ${at}`
        yield* sql`DELETE FROM sign_in_addresses WHERE last_attempt_at <= ${at}`
      }, Effect.orDie)
    })
  })
)
