export default [
  `
  CREATE TABLE IF NOT EXISTS dhcp_events (
    event_time DateTime64(3, 'UTC'),
    protocol Enum8('dhcpv4' = 4, 'dhcpv6' = 6),
    message_type LowCardinality(String),
    client String,
    client_mac String,
    client_id String,
    duid String,
    iaid Nullable(UInt32),
    hostname String,
    vendor_class LowCardinality(String),
    user_class LowCardinality(String),
    fingerprint LowCardinality(String),
    requested_ip IPv6,
    assigned_ip IPv6,
    client_ip IPv6,
    server_ip IPv6,
    relay_ip IPv6,
    circuit_id LowCardinality(String),
    remote_id String,
    subscriber_id String,
    transaction_id String,
    lease_seconds Nullable(UInt32),
    source LowCardinality(String),
    batch UInt64,
    row UInt32
  )
  ENGINE = MergeTree
  PARTITION BY toDate(event_time)
  ORDER BY (protocol, toStartOfHour(event_time), client, event_time)
  TTL toDateTime(event_time) + INTERVAL 30 DAY
  SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1
  `
]
