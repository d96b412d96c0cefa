import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE actions (
      id uuid PRIMARY KEY,
      type text COLLATE "C" NOT NULL CHECK (type IN ('block', 'quarantine', 'allow', 'tag')),
      tag text COLLATE "C" NOT NULL,
      client text COLLATE "C" NOT NULL CHECK (client <> ''),
      client_mac text CHECK (client_mac ~ '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$'),
      status text NOT NULL CHECK (status IN ('active', 'expired', 'removed')),
      reason text NOT NULL,
      origin_kind text NOT NULL CHECK (origin_kind IN ('user', 'rule_run', 'bulk_job')),
      origin_id text NOT NULL,
      created_at timestamptz NOT NULL,
      expires_at timestamptz CHECK (expires_at > created_at),
      ended_at timestamptz,
      synced_at timestamptz,
      CONSTRAINT actions_tag CHECK ((type = 'tag') = (tag <> '')),
      CONSTRAINT actions_mac CHECK (type = 'tag' OR client_mac IS NOT NULL),
      CONSTRAINT actions_ended CHECK ((status = 'active') = (ended_at IS NULL))
    )
  `
  yield* sql`CREATE UNIQUE INDEX actions_active ON actions (client, type, tag) WHERE status = 'active'`
  yield* sql`CREATE INDEX actions_newest ON actions (created_at DESC, id DESC)`
  yield* sql`CREATE INDEX actions_client ON actions (client, created_at DESC, id DESC)`
})
