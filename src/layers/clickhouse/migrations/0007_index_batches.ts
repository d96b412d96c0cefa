// Streams read events by their batches: parts say by it which batches they hold.
export default [
  "ALTER TABLE dhcp_events ADD INDEX IF NOT EXISTS batches batch TYPE minmax GRANULARITY 1"
]
