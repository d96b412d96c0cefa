import { feedColumns } from "./0002_create_dhcp_rollups.ts"

const hourlyView = `
  CREATE MATERIALIZED VIEW dhcp_activity_1h_mv TO dhcp_activity_1h AS
  SELECT
    protocol,
    toStartOfHour(event_time - toIntervalMillisecond(1)) AS hour,
    client,
    sum(is_request) AS requests,
    count() AS events,
    max(duid) AS duid,
    uniqExactArrayState(ips) AS addresses
  FROM dhcp_activity_feed
  GROUP BY protocol, hour, client`

/** Days combine what comes to the hours, which is much less than the events. */
const dailyView = `
  CREATE MATERIALIZED VIEW dhcp_activity_1d_mv TO dhcp_activity_1d AS
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

/**
 * Buckets of activity are cut as the windows of rules are: after their first instant up to and including their last,
 * else a window from one full hour to another would hold no whole bucket but for one millisecond. What has been summed
 * up is therefore summed up anew from the events, in the same way as when the rollups were made.
 */
export default [
  "DROP VIEW IF EXISTS dhcp_activity_feed_mv",
  "DROP VIEW IF EXISTS dhcp_activity_1h_mv",
  "DROP VIEW IF EXISTS dhcp_activity_1d_mv",
  "TRUNCATE TABLE dhcp_activity_1h",
  "TRUNCATE TABLE dhcp_activity_1d",
  "CREATE TABLE IF NOT EXISTS dhcp_activity_feed AS dhcp_rollup_feed ENGINE = Null",
  hourlyView,
  dailyView,
  "DROP VIEW IF EXISTS dhcp_activity_seen_mv",
  "DROP TABLE IF EXISTS dhcp_activity_seen",
  "CREATE TABLE dhcp_activity_seen (batch UInt64) ENGINE = MergeTree ORDER BY batch",
  "CREATE MATERIALIZED VIEW dhcp_activity_seen_mv TO dhcp_activity_seen AS SELECT DISTINCT batch FROM dhcp_activity_feed",
  "CREATE MATERIALIZED VIEW dhcp_activity_feed_mv TO dhcp_activity_feed AS SELECT * FROM dhcp_rollup_feed",
  `INSERT INTO dhcp_activity_feed SELECT ${feedColumns} FROM dhcp_events
    WHERE batch NOT IN (SELECT batch FROM dhcp_activity_seen)
    SETTINGS insert_deduplicate = 0, max_partitions_per_insert_block = 0`,
  "DROP VIEW dhcp_activity_seen_mv",
  "DROP TABLE dhcp_activity_seen"
]
