export default [
  "ALTER TABLE alarm_transitions ADD COLUMN IF NOT EXISTS id UUID",
  "ALTER TABLE alarm_transitions MODIFY SETTING non_replicated_deduplication_window = 1000"
]
