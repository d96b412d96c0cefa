import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const files = (readdirSync("src", { recursive: true, encoding: "utf8" }))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(join("src", path), "utf8") }))

/** What each part of the source may import besides itself; what stands beside the parts is on top of them. */
const below: Readonly<Record<string, ReadonlyArray<string>>> = {
  schema: [],
  services: ["schema"],
  api: ["schema"],
  layers: ["schema", "services", "api"],
  cli: ["schema", "services", "api", "layers", "main.ts"],
  "main.ts": ["schema", "services", "api", "layers"],
  "cli.ts": ["schema", "services", "api", "layers", "main.ts", "cli"]
}

const partOf = (path: string) => path.split("/")[0]!

const importsOf = (text: string) => [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!)

/** The part of a specifier's file, `undefined` for packages. */
const importedPart = (path: string, specifier: string) =>
  specifier.startsWith(".") ? partOf(relative(".", join(dirname(path), specifier))) : undefined

/** Comments and texts aside. */
const codeOf = (text: string) =>
  text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1").replace(/"(?:[^"\\\n]|\\.)*"/g, "\"\"")

describe("the source", () => {
  it("is found", () => {
    assert.isAbove(files.length, 80)
    for (const { path } of files) assert.property(below, partOf(path), `${path} belongs to a known part`)
  })

  it("imports downwards", () => {
    for (const { path, text } of files) {
      for (const specifier of importsOf(text)) {
        const part = importedPart(path, specifier)
        if (part === undefined || part === partOf(path)) continue
        assert.include(below[partOf(path)]!, part, `${path} imports ${specifier}`)
      }
    }
  })

  it("imports files by their names, and has none that is named for nothing", () => {
    for (const { path, text } of files) {
      assert.notMatch(path, /(?:^|\/)(?:utils?|helpers?|common|misc)(?:\/|\.ts$)/i)
      for (const specifier of importsOf(text)) {
        if (specifier.startsWith(".")) assert.match(specifier, /\.ts$/, path)
      }
    }
  })

  it("keeps the rules and the contract free of transports, databases and processes", () => {
    const outside = {
      schema: /^@effect\/(?:platform|sql)|^@clickhouse|^pg|^node:/,
      services: /^@effect\/(?:platform|sql)|^@clickhouse|^pg|^node:(?!crypto$|os$|util$)/,
      api: /^@effect\/(?:platform-node|sql)|^@clickhouse|^pg|^node:/
    }
    for (const [part, forbidden] of Object.entries(outside)) {
      for (const { path, text } of files.filter(({ path }) => partOf(path) === part)) {
        // To tell an address from a name is no use of the network.
        const rest = text.replace(/import \{ isIPv?[46]?(?:, isIPv?[46]?)* \} from "node:net"/, "")
        for (const specifier of importsOf(rest)) assert.notMatch(specifier, forbidden, path)
      }
    }
  })

  it("puts what is done around every handler around every handler", () => {
    const serving = files.filter(({ path }) => /^layers\/http\/.*Http\.ts$/.test(path))
    assert.isAbove(serving.length, 10)
    for (const { path, text } of serving) assert.include(importsOf(text), "./group.ts", path)
    for (const { path, text } of files.filter(({ path }) => path !== "layers/http/group.ts")) {
      assert.notMatch(codeOf(text), /\bHttpApiBuilder\s*\.\s*group\b/, path)
    }
  })

  it("reads its configuration through Config", () => {
    const passedOn = /^(?:cli\/|cli\.ts$|layers\/(?:.*\/)?config\.ts$|layers\/clickhouse\/front\/)/
    for (const { path, text } of files) {
      if (!passedOn.test(path)) assert.notMatch(codeOf(text), /process\s*(?:\.\s*env|\[)|import\.meta\.env/, path)
    }
  })

  it("leaves nothing behind", () => {
    for (const { path, text } of files) {
      assert.notMatch(text, /\b(?:TODO|FIXME|XXX|HACK)\b/, path)
      assert.notMatch(text, /@ts-(?:ignore|expect-error|nocheck)|eslint-disable/, path)
      assert.notMatch(codeOf(text), /\bconsole\s*\.|\bdebugger\b/, path)
    }
  })

  it("takes the time from the clock", () => {
    for (const { path, text } of files) {
      if (!["schema", "services", "layers"].includes(partOf(path)) || path.startsWith("layers/clickhouse/front/")) {
        continue
      }
      assert.notMatch(codeOf(text), /new Date\(\)|Date\.now\(\)|Math\.random\(\)/, path)
    }
  })

  it("has files of at most 300 lines", () => {
    for (const { path, text } of files) assert.isAtMost(text.trimEnd().split("\n").length, 300, path)
  })
})
