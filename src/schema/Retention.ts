import { Schema } from "effect"

export const retentionCategories = ["short", "medium", "long"] as const
export type RetentionCategory = (typeof retentionCategories)[number]

/** Days that the tables of a category may be kept. */
export const retentionBounds: Readonly<Record<RetentionCategory, { readonly min: number; readonly max: number }>> = {
  short: { min: 1, max: 30 },
  medium: { min: 7, max: 180 },
  long: { min: 30, max: 1095 }
}

/** A table whose retention can be set. */
export interface RetainedTable {
  readonly table_name: string
  readonly category: RetentionCategory
  readonly default_ttl_days: number
  /** The column of time that its TTL counts from. */
  readonly ttl_column: string
}

/** Every table whose retention can be set; a store may not have all of them. */
export const retainedTables: ReadonlyArray<RetainedTable> = [
  { table_name: "dhcp_events", category: "medium", default_ttl_days: 30, ttl_column: "event_time" },
  { table_name: "firewall_events", category: "short", default_ttl_days: 14, ttl_column: "event_time" },
  { table_name: "firewall_traffic", category: "medium", default_ttl_days: 90, ttl_column: "at" },
  { table_name: "alarm_transitions", category: "long", default_ttl_days: 365, ttl_column: "at" },
  { table_name: "dhcp_activity_1h", category: "medium", default_ttl_days: 90, ttl_column: "hour" },
  { table_name: "dhcp_activity_1d", category: "long", default_ttl_days: 730, ttl_column: "day" },
  { table_name: "dhcp_unique_ips_1m", category: "short", default_ttl_days: 14, ttl_column: "minute" },
  { table_name: "dhcp_unique_ips_1h", category: "long", default_ttl_days: 365, ttl_column: "hour" }
]

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

/** A size as ClickHouse's `formatReadableSize` writes it: `1.50 MiB`. */
export const prettyBytes = (bytes: number): string => {
  const unit = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** unit).toFixed(2)} ${units[unit]}`
}

const Size = {
  size_bytes: Schema.NonNegativeInt,
  size_pretty: Schema.String,
  row_count: Schema.NonNegativeInt
}

/** Retention of every table, and the disk of the store (specification 2.12). */
export const RetentionConfig = Schema.Struct({
  tables: Schema.Array(Schema.Struct({
    table_name: Schema.String,
    category: Schema.Literal(...retentionCategories),
    current_ttl_days: Schema.NonNegativeInt,
    default_ttl_days: Schema.NonNegativeInt,
    ...Size,
    ttl_column: Schema.String
  })),
  non_configurable_tables: Schema.Array(Schema.Struct({ table_name: Schema.String, ...Size })),
  disk_space: Schema.Struct({
    total_bytes: Schema.NonNegativeInt,
    used_bytes: Schema.NonNegativeInt,
    free_bytes: Schema.NonNegativeInt,
    used_percent: Schema.Number,
    warning_level: Schema.Boolean.annotations({ description: "80 % or more is used" }),
    total_pretty: Schema.String,
    used_pretty: Schema.String,
    free_pretty: Schema.String
  }).annotations({ description: "all disks of the store together, as the store sees them" })
}).annotations({ identifier: "RetentionConfig" })
export type RetentionConfig = typeof RetentionConfig.Type

const namesOnce = <A extends { readonly table_name: string }>(tables: ReadonlyArray<A>) => {
  const names = tables.map(({ table_name }) => table_name)
  const index = names.findIndex((name, at) => names.indexOf(name) !== at)
  return index < 0 || { path: [index, "table_name"], message: "Expected each table once" }
}

const TableChange = Schema.Struct({
  table_name: Schema.Literal(...retainedTables.map(({ table_name }) => table_name)),
  ttl_days: Schema.Int.annotations({ description: "short 1 to 30, medium 7 to 180, long 30 to 1095" })
}).pipe(Schema.filter(({ table_name, ttl_days }) => {
  const { category } = retainedTables.find((table) => table.table_name === table_name)!
  const { max, min } = retentionBounds[category]
  return (ttl_days >= min && ttl_days <= max) ||
    { path: ["ttl_days"], message: `Expected ${min} to ${max} days: the table's category is ${category}` }
}))

export const RetentionChange = Schema.Struct({
  tables: Schema.NonEmptyArray(TableChange).pipe(Schema.filter(namesOnce)),
  dry_run: Schema.optional(Schema.Boolean.annotations({ description: "only tell what would go" }))
}).annotations({ identifier: "RetentionChange" })
export type RetentionChange = typeof RetentionChange.Type

/** What a change does to one table. */
export const RetentionImpact = Schema.Struct({
  table_name: Schema.String,
  previous_ttl_days: Schema.NonNegativeInt,
  ttl_days: Schema.NonNegativeInt,
  rows: Schema.NonNegativeInt.annotations({ description: "rows that are past the new time and go" }),
  bytes: Schema.NonNegativeInt.annotations({ description: "about the room on disk that they take" }),
  pretty: Schema.String
}).annotations({ identifier: "RetentionImpact" })
export type RetentionImpact = typeof RetentionImpact.Type

export const RetentionChanged = Schema.Struct({
  success: Schema.Literal(true),
  dry_run: Schema.Boolean,
  impact: Schema.Array(RetentionImpact)
}).annotations({ identifier: "RetentionChanged" })
