export default [
  `
  CREATE TABLE IF NOT EXISTS firewall_traffic (
    at DateTime64(3, 'UTC'),
    node LowCardinality(String),
    target LowCardinality(String),
    inbound_bytes UInt64,
    outbound_bytes UInt64,
    inbound_packets UInt64,
    outbound_packets UInt64,
    blocked_bytes UInt64,
    blocked_packets UInt64
  )
  ENGINE = MergeTree
  PARTITION BY toMonday(at)
  ORDER BY (at, node, target)
  TTL toDateTime(at) + INTERVAL 90 DAY
  SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1
  `,
  `
  CREATE TABLE IF NOT EXISTS firewall_events (
    event_time DateTime64(3, 'UTC'),
    action Enum8('allow' = 1, 'drop' = 2, 'reject' = 3),
    direction Enum8('in' = 1, 'out' = 2),
    src_ip IPv6,
    dst_ip IPv6,
    protocol LowCardinality(String),
    src_port Nullable(UInt16),
    dst_port Nullable(UInt16),
    interface LowCardinality(String),
    rule LowCardinality(String),
    bytes Nullable(UInt64),
    source LowCardinality(String),
    batch UInt64,
    row UInt32
  )
  ENGINE = MergeTree
  PARTITION BY toDate(event_time)
  ORDER BY (toStartOfHour(event_time), direction, action, src_ip, event_time)
  TTL toDateTime(event_time) + INTERVAL 14 DAY
  SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1
  `
]
