import { createHash, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import type { Answer, Engine } from "./engine.ts"
import type { Login } from "./protocol.ts"
import type { Spool } from "./spool.ts"
import { readStatement, refuseOutfile, type Statement } from "./statement.ts"

const digest = (text: string) => createHash("sha256").update(text).digest()

const credentials = (request: IncomingMessage, url: URL): string => {
  const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? "")?.[1]
  if (basic !== undefined) return Buffer.from(basic, "base64").toString("utf8")
  const user = request.headers["x-clickhouse-user"] ?? url.searchParams.get("user") ?? "default"
  return `${user}:${request.headers["x-clickhouse-key"] ?? url.searchParams.get("password") ?? ""}`
}

const bodyOf = (request: IncomingMessage) =>
  request.headers["content-encoding"] === "gzip" ? request.pipe(createGunzip()) : request

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const source = bodyOf(request)
  const chunks: Array<Buffer> = []
  for await (const chunk of source) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const statementOf = async (request: IncomingMessage, url: URL): Promise<Statement> => {
  const body = await readBody(request)
  const type = request.headers["content-type"] ?? ""
  if (!type.startsWith("multipart/form-data")) return readStatement(url.searchParams, body.toString("utf8"))
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData()
  const parts = [...form].filter((part): part is [string, string] => typeof part[1] === "string")
  return readStatement([...url.searchParams, ...parts], "")
}

const statusOf = (code: string): number => {
  if (code === "516" || code === "193" || code === "194") return 403
  if (code === "60" || code === "81") return 404
  return code === "62" || code === "115" ? 400 : 500
}

const fail = (response: ServerResponse, error: unknown) => {
  // The status has gone out: a broken connection is the only way left to say that the answer isn't whole.
  if (response.headersSent) return response.destroy()
  const message = error instanceof Error ? error.message : String(error)
  const code = /^Code: (\d+)/.exec(message)?.[1] ?? "1001"
  const text = message.startsWith("Code: ") ? message : `Code: 1001. DB::Exception: ${message} (STD_EXCEPTION)`
  response.writeHead(statusOf(code), {
    "content-type": "text/plain; charset=UTF-8",
    "x-clickhouse-exception-code": code
  })
  response.end(`${text}\n`)
}

const contentType = (format: string) => format.startsWith("JSON") ? "application/json" : "text/plain"

const sendAnswer = (request: IncomingMessage, response: ServerResponse, url: URL) => async (answer: Answer) => {
  const gzip = url.searchParams.get("enable_http_compression") === "1" &&
    /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""))
  response.writeHead(200, {
    "content-type": `${contentType(answer.format)}; charset=UTF-8`,
    "x-clickhouse-format": answer.format,
    ...(answer.summary === undefined ? {} : { "x-clickhouse-summary": JSON.stringify(answer.summary) }),
    ...(gzip ? { "content-encoding": "gzip" } : {})
  })
  if (gzip) await pipeline(answer.chunks, createGzip(), response)
  else await pipeline(answer.chunks, response)
}

/** Digests of what the two logins send. */
interface Logins {
  readonly writer: Buffer
  readonly reader: Buffer
}

const readOnly = (statement: Statement): Statement => ({
  ...statement,
  settings: new Map([...statement.settings, ["readonly", "1"]])
})

const handle = async (
  engine: Engine,
  spool: Spool,
  logins: Logins,
  request: IncomingMessage,
  response: ServerResponse
) => {
  const url = new URL(request.url ?? "/", "http://front")
  if (url.pathname === "/ping") return void response.end("Ok.\n")
  try {
    const given = digest(credentials(request, url))
    const reads = timingSafeEqual(given, logins.reader)
    if (!reads && !timingSafeEqual(given, logins.writer)) {
      throw new Error("Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
    }
    const queryId = url.searchParams.get("query_id")
    if (queryId !== null) response.setHeader("x-clickhouse-query-id", queryId)
    const query = url.searchParams.get("query")
    if (!reads && spool.takes(query)) {
      const rest = [...url.searchParams].filter(([name]) => name !== "query")
      return await spool.run(
        query,
        bodyOf(request),
        (insert) => engine.execute(readStatement(rest, insert), sendAnswer(request, response, url))
      )
    }
    const statement = await statementOf(request, url)
    refuseOutfile(statement)
    if (statement.sql.trim() === "") throw new Error("Code: 62. DB::Exception: Empty query. (SYNTAX_ERROR)")
    await engine.execute(reads ? readOnly(statement) : statement, sendAnswer(request, response, url))
  } catch (error) {
    fail(response, error)
  }
}

/** Serves the part of ClickHouse's HTTP interface that @clickhouse/client uses, on 127.0.0.1 (0: any free port). */
export const serve = (
  engine: Engine,
  spool: Spool,
  { reader, writer }: { readonly reader: Login; readonly writer: Login },
  port: number
): Promise<Server> =>
  new Promise((resolve, reject) => {
    const digestOf = ({ password, user }: Login) => digest(`${user}:${password}`)
    const logins = { writer: digestOf(writer), reader: digestOf(reader) }
    const server = createServer((request, response) => void handle(engine, spool, logins, request, response))
    // Longer than clients keep an idle connection, so that they never write into one that is being closed.
    server.keepAliveTimeout = 60_000
    server.requestTimeout = 0
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => resolve(server))
  })
