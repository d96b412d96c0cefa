/** ClickHouse's names of the types that parameters are bound as. */
export type SqlParamType = ScalarType | `Array(${ScalarType})`
type ScalarType = "String" | "IPv6" | "Float64" | "UInt32" | "UInt64" | "Int64" | "DateTime64(3, 'UTC')"

/** The parameters of one statement under construction. Compilers that build parts of it share one. */
export interface SqlParams {
  /** Keeps the value and gives the placeholder that stands for it in the statement: `{p0:String}`. */
  readonly bind: (type: SqlParamType, value: SqlParamValue) => string
  /** What has been bound so far, as the client's `query_params`. */
  readonly values: Readonly<Record<string, SqlParamValue>>
}
export type SqlParamValue = string | number | ReadonlyArray<string> | ReadonlyArray<number>

/** Parameters named `p0`, `p1`, …; another prefix keeps them apart from hand-written ones. */
export const makeSqlParams = (prefix = "p"): SqlParams => {
  const values: Record<string, SqlParamValue> = {}
  let count = 0
  return {
    bind: (type, value) => {
      const name = `${prefix}${count++}`
      values[name] = value
      return `{${name}:${type}}`
    },
    values
  }
}

/** The text that ClickHouse reads as a `DateTime64(3, 'UTC')`, of an RFC 3339 text in UTC with milliseconds. */
export const sqlTime = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 23)}`

/** The text that ClickHouse reads as an IPv6: IPv4 addresses are v4-mapped. */
export const sqlIp = (ip: string): string => ip.includes(":") ? ip : `::ffff:${ip}`
