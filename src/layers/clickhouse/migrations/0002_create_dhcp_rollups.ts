import { requestTypes } from "../../../schema/DhcpEvent.ts"

const list = (texts: ReadonlyArray<string>) => `IN (${texts.map((text) => `'${text}'`).join(", ")})`

/** `protocol` first in every rollup, as an enumeration that is the one of `dhcp_events`. */
const protocol = "protocol Enum8('dhcpv4' = 4, 'dhcpv6' = 6)"

/** A retried insert carries its token on to the rollups, which therefore need a window of their own. */
const settings = "SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1"

const activity = (name: string, bucket: string, days: number, partition: string) => `
  CREATE TABLE IF NOT EXISTS ${name} (
    ${protocol},
    ${bucket} DateTime('UTC'),
    client String,
    requests SimpleAggregateFunction(sum, UInt64),
    events SimpleAggregateFunction(sum, UInt64),
    duid SimpleAggregateFunction(max, String),
    addresses AggregateFunction(uniqExactArray, Array(IPv6))
  )
  ENGINE = AggregatingMergeTree
  PARTITION BY ${partition}
  ORDER BY (protocol, ${bucket}, client)
  TTL ${bucket} + INTERVAL ${days} DAY
  ${settings}`

const hourlyActivityView = `
  CREATE MATERIALIZED VIEW IF NOT EXISTS dhcp_activity_1h_mv TO dhcp_activity_1h AS
  SELECT
    protocol,
    toStartOfHour(event_time) AS hour,
    client,
    sum(is_request) AS requests,
    count() AS events,
    max(duid) AS duid,
    uniqExactArrayState(ips) AS addresses
  FROM dhcp_rollup_feed
  GROUP BY protocol, hour, client`

/** Coarser rollups combine what comes to the finer ones, which is much less than the events. */
const dailyActivityView = `
  CREATE MATERIALIZED VIEW IF NOT EXISTS dhcp_activity_1d_mv TO dhcp_activity_1d AS
  SELECT
    protocol,
    toStartOfDay(hour) AS day,
    client,
    sum(hourly.requests) AS requests,
    sum(hourly.events) AS events,
    max(hourly.duid) AS duid,
    uniqExactArrayMergeState(hourly.addresses) AS addresses
  FROM dhcp_activity_1h AS hourly
  GROUP BY protocol, day, client`

const distinct = (name: string, bucket: string, days: number, partition: string) => `
  CREATE TABLE IF NOT EXISTS ${name} (
    ${protocol},
    ${bucket} DateTime('UTC'),
    addresses AggregateFunction(uniqCombined64Array(16), Array(IPv6))
  )
  ENGINE = AggregatingMergeTree
  PARTITION BY ${partition}
  ORDER BY (protocol, ${bucket})
  TTL ${bucket} + INTERVAL ${days} DAY
  ${settings}`

const minutelyDistinctView = `
  CREATE MATERIALIZED VIEW IF NOT EXISTS dhcp_unique_ips_1m_mv TO dhcp_unique_ips_1m AS
  SELECT protocol, toStartOfMinute(event_time) AS minute, uniqCombined64ArrayState(16)(ips) AS addresses
  FROM dhcp_rollup_feed
  GROUP BY protocol, minute`

const hourlyDistinctView = `
  CREATE MATERIALIZED VIEW IF NOT EXISTS dhcp_unique_ips_1h_mv TO dhcp_unique_ips_1h AS
  SELECT protocol, toStartOfHour(minute) AS hour, uniqCombined64ArrayMergeState(16)(minutely.addresses) AS addresses
  FROM dhcp_unique_ips_1m AS minutely
  GROUP BY protocol, hour`

/** Columns of the feed, of rows of `dhcp_events`. */
export const feedColumns = `
    event_time, protocol, client, duid,
    toUInt8(if(protocol = 'dhcpv4', message_type ${list(requestTypes.dhcpv4)}, message_type ${
  list(requestTypes.dhcpv6)
})) AS is_request,
    arrayFilter(ip -> ip != toIPv6('::'), [assigned_ip, client_ip, requested_ip]) AS ips,
    batch`

const rollups = ["dhcp_activity_1h", "dhcp_activity_1d", "dhcp_unique_ips_1m", "dhcp_unique_ips_1h"]

/**
 * All rollups hang, some through others, on one table that stores nothing, and that one on `dhcp_events`: creating the last view is the one
 * moment from which all of them count, so none can miss what another has. What came before that moment is then sent
 * through the same views: batches that the views have seen are left out, and a run that failed halfway starts over
 * from empty rollups.
 */
export default [
  "DROP VIEW IF EXISTS dhcp_rollup_feed_mv",
  activity("dhcp_activity_1h", "hour", 90, "toMonday(hour)"),
  activity("dhcp_activity_1d", "day", 730, "toYYYYMM(day)"),
  distinct("dhcp_unique_ips_1m", "minute", 14, "toDate(minute)"),
  distinct("dhcp_unique_ips_1h", "hour", 365, "toYYYYMM(hour)"),
  ...rollups.map((name) => `TRUNCATE TABLE ${name}`),
  `CREATE TABLE IF NOT EXISTS dhcp_rollup_feed (
    event_time DateTime64(3, 'UTC'),
    ${protocol},
    client String,
    duid String,
    is_request UInt8,
    ips Array(IPv6),
    batch UInt64
  ) ENGINE = Null`,
  hourlyActivityView,
  dailyActivityView,
  minutelyDistinctView,
  hourlyDistinctView,
  "DROP VIEW IF EXISTS dhcp_rollup_seen_mv",
  "DROP TABLE IF EXISTS dhcp_rollup_seen",
  "CREATE TABLE dhcp_rollup_seen (batch UInt64) ENGINE = MergeTree ORDER BY batch",
  "CREATE MATERIALIZED VIEW dhcp_rollup_seen_mv TO dhcp_rollup_seen AS SELECT DISTINCT batch FROM dhcp_rollup_feed",
  `CREATE MATERIALIZED VIEW dhcp_rollup_feed_mv TO dhcp_rollup_feed AS SELECT ${feedColumns} FROM dhcp_events`,
  `INSERT INTO dhcp_rollup_feed SELECT ${feedColumns} FROM dhcp_events
    WHERE batch NOT IN (SELECT batch FROM dhcp_rollup_seen)
    SETTINGS insert_deduplicate = 0, max_partitions_per_insert_block = 0`,
  "DROP VIEW dhcp_rollup_seen_mv",
  "DROP TABLE dhcp_rollup_seen"
]
