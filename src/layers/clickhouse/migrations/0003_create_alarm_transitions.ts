export default [
  `
  CREATE TABLE IF NOT EXISTS alarm_transitions (
    at DateTime64(3, 'UTC'),
    alarm_id UUID,
    rule_id UUID,
    client String,
    severity LowCardinality(String),
    from_status LowCardinality(String),
    to_status LowCardinality(String),
    by String,
    request_id String
  )
  ENGINE = MergeTree
  ORDER BY (alarm_id, at)
  TTL toDateTime(at) + INTERVAL 365 DAY
  `
]
