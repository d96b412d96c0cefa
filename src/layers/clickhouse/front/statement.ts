/** What one HTTP request asks of the engine, in ClickHouse's own terms. */
export interface Statement {
  readonly sql: string
  readonly database: string | undefined
  readonly settings: ReadonlyMap<string, string>
  /** Values of `{name:Type}` placeholders, escaped as in TSV, the way they travel over HTTP. */
  readonly params: ReadonlyMap<string, string>
  readonly defaultFormat: string | undefined
}

// Parameters of the HTTP interface that aren't settings of the engine.
const ofHttp = new Set([
  "buffer_size",
  "compress",
  "decompress",
  "default_format",
  "enable_http_compression",
  "http_headers_progress_interval_ms",
  "http_response_buffer_size",
  "http_zlib_compression_level",
  "password",
  "query_id",
  "quota_key",
  "role",
  "send_progress_in_http_headers",
  "session_check",
  "session_id",
  "session_timeout",
  "user",
  "wait_end_of_query"
])

/** Reads URL parameters and form parts; a query in the URL comes before the one in the body, as on a server. */
export const readStatement = (parameters: Iterable<readonly [string, string]>, body: string): Statement => {
  const settings = new Map<string, string>()
  const params = new Map<string, string>()
  const queries: Array<string> = []
  let database: string | undefined
  let defaultFormat: string | undefined
  for (const [name, value] of parameters) {
    if (name === "query") queries.push(value)
    else if (name === "database") database = value
    else if (name === "default_format") defaultFormat = value
    else if (name.startsWith("param_")) params.set(name.slice("param_".length), value)
    else if (!ofHttp.has(name)) settings.set(name, value)
  }
  const sql = [...queries, ...(body === "" ? [] : [body])].join("\n")
  return { sql, database, settings, params, defaultFormat }
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/

const literal = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const assignment = (name: string, value: string) => {
  if (!identifier.test(name)) throw new Error(`Code: 115. DB::Exception: Invalid name ${name}. (UNKNOWN_SETTING)`)
  return `SET ${name} = ${literal(value)}`
}

/**
 * The statements that prepare a connection for the query: database, parameters, settings, and `readonly` last, because
 * after it nothing else can be set.
 */
export const preparation = (statement: Statement): ReadonlyArray<string> => {
  const { readonly, ...settings } = Object.fromEntries(statement.settings)
  const assignments = [
    ...[...statement.params].map(([name, value]) => assignment(`param_${name}`, value)),
    ...Object.entries(settings).map(([name, value]) => assignment(name, value)),
    ...(readonly === undefined ? [] : [assignment("readonly", readonly)])
  ].join("; ")
  return [
    // Parameters aren't part of the query on a server, so the limit of its length isn't theirs.
    ...(assignments.length > 200_000 ? [`SET max_query_size = ${assignments.length * 2}`] : []),
    ...(statement.database === undefined ? [] : [`USE \`${statement.database.replace(/[\\`]/g, "\\$&")}\``]),
    ...(assignments === "" ? [] : [assignments])
  ]
}

const comments = /--[^\n]*|\/\*[\s\S]*?\*\//g

/** Refuses what a server refuses over HTTP and chDB would do even with `readonly`: write the answer to a file. */
export const refuseOutfile = ({ sql }: Statement): void => {
  if (/\boutfile\b/i.test(sql) && /\binto\s+outfile\b/i.test(sql.replace(comments, " "))) {
    throw new Error("Code: 48. DB::Exception: INTO OUTFILE is not allowed. (NOT_IMPLEMENTED)")
  }
}

// Formats of one line a row, which chDB can send as they come; others need a head and a foot around the whole.
const lines = /^(?:JSON\w*EachRow|CSV|TabSeparated|TSV)$/

/** Whether chDB can send the answer piece by piece: it streams nothing but SELECT. */
export const isStreamable = (statement: Statement) =>
  /^\s*(?:select|with)\b/i.test(statement.sql) && lines.test(formatOf(statement))

/** The format of the answer: the query's own FORMAT clause, else the default that the request names. */
export const formatOf = (statement: Statement) =>
  /\bFORMAT\s+(\w+)\s*;?\s*$/i.exec(statement.sql)?.[1] ?? statement.defaultFormat ?? "TabSeparated"
