// The same answers by node:http, ajv and pg alone: the statements are those that the service sends.
import { Ajv } from "ajv";
import canonicalize from "canonicalize";
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import pg from "pg";

const [databaseUrl, series] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
const ajv = new Ajv({ allErrors: true });

const macs = {
  type: "array",
  minItems: 1,
  maxItems: 10_000,
  items: { type: "string", pattern: "^[0-9a-f]{2}(:[0-9a-f]{2}){5}$" },
};
const isPreview = ajv.compile({
  type: "object",
  additionalProperties: false,
  required: ["criteria"],
  properties: {
    action: {
      type: "object",
      additionalProperties: false,
      required: ["type"],
      properties: { type: { enum: ["block", "unblock"] } },
    },
    criteria: { type: "object", additionalProperties: false, minProperties: 1, properties: { macs } },
  },
});
const isSettings = ajv.compile({
  type: "object",
  additionalProperties: false,
  properties: {
    theme: { enum: ["light", "dark", "system"] },
    rows_per_page: { type: "integer", minimum: 1, maximum: 1000 },
    week_start: { enum: ["monday", "saturday", "sunday"] },
  },
});

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

const live = `WITH live AS (
    SELECT u.id, u.username, u.role, u.disabled, u.created_at, u.revision, s.id AS session_id,
      s.created_at AS signed_in_at, s.last_seen_at, s.expires_at, s.address, s.user_agent
    FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.token_hash = $1 AND s.expires_at > $2 AND s.last_seen_at > $3 AND NOT u.disabled
  ), used AS (
    UPDATE sessions SET last_seen_at = $2 FROM live
    WHERE sessions.id = session_id AND live.last_seen_at <= $2::timestamptz - interval '1 minute'
      AND sessions.last_seen_at < $2
  ) SELECT * FROM live`;

const authenticate = async (request) => {
  const token = /^bearer (nop_s_.{43})$/i.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) return undefined;
  const now = Date.now();
  const values = [sha256(token), new Date(now), new Date(now - 43_200_000)];
  const { rows } = await pool.query(live, values);
  return rows[0];
};

const read = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
};

const preview = async (request) => {
  const body = await read(request);
  if (!isPreview(body)) return [422, ajv.errors];
  const clients = [...body.criteria.macs].sort();
  const until = Math.floor(Date.now() / 1000) + 900;
  const sample = clients.slice(0, 10);
  return [200, {
    total_count: clients.length,
    sample_macs: sample,
    sample_clients: sample.map((mac) => ({ client_mac: mac, client: mac })),
    exceeds_limit: false,
    max_limit: 100_000,
    criteria_hash: `sha256:${sha256(canonicalize({ action: body.action, criteria: { macs: [...new Set(clients)] } }))}`,
    match_digest: `v1.${until}.${sha256(JSON.stringify([clients.length, clients]))}`,
    preview_expires_at: new Date(until * 1000).toISOString(),
    skipped_without_mac: 0,
  }];
};

const settings = async (request, user) => {
  const given = await read(request);
  if (!isSettings(given)) return [422, ajv.errors];
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const before = await client.query("SELECT settings, revision FROM user_settings WHERE user_id = $1", [user.id]);
    await client.query("INSERT INTO user_settings VALUES ($1, '{}', 0) ON CONFLICT DO NOTHING", [user.id]);
    const after = await client.query(
      `UPDATE user_settings SET revision = revision + 1,
        settings = settings || $1::jsonb || CASE WHEN $1::jsonb ? 'notifications' THEN
          jsonb_build_object('notifications',
            coalesce(settings -> 'notifications', '{}') || ($1::jsonb -> 'notifications')) ELSE '{}' END
        WHERE user_id = $2 RETURNING settings, revision`,
      [JSON.stringify(given), user.id],
    );
    await client.query(
      `INSERT INTO audit_entries (id, at, operation, outcome, status, user_id, username, target, address, request_id,
        reason, request, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      [
        randomUUID(),
        new Date(),
        "user.updateSettings",
        "success",
        200,
        user.id,
        user.username,
        String(user.id),
        "127.0.0.1",
        randomUUID(),
        null,
        JSON.stringify(given),
        JSON.stringify(before.rows[0]?.settings ?? {}),
        JSON.stringify(after.rows[0].settings),
      ],
    );
    await client.query("COMMIT");
    return [200, { success: true, settings: after.rows[0].settings }];
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
};

const known = JSON.parse(series);

const answer = async (request) => {
  if (request.url === "/open-series") return [200, known];
  const user = await authenticate(request);
  if (user === undefined) return [401, {}];
  if (request.url === "/preview") return preview(request);
  if (request.url === "/settings") return settings(request, user);
  return [200, known];
};

const server = createServer((request, response) => {
  answer(request).catch((error) => [500, { message: String(error) }]).then(([status, value]) => {
    const body = JSON.stringify(value);
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-request-id": randomUUID(),
    }).end(body);
  });
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit(0));
