import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { endpoints } from "../../src/api/Api.ts"
import { HttpMetrics } from "../../src/layers/telemetry/HttpMetrics.ts"
import { call } from "../support/client.ts"
import { Callers, TestApi } from "../support/testApi.ts"

const read = (path: string) => readFileSync(path, "utf8")

const filesBelow = (directory: string, end: string) =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(end))
    .map((path) => join(directory, path))

interface Alert {
  readonly name: string
  readonly text: string
  readonly expression: string
}

const alerts: ReadonlyArray<Alert> = read("deploy/prometheus/alerts.yaml").split("- alert: ").slice(1).map((text) => ({
  name: text.split("\n", 1)[0]!,
  text,
  expression: /expr: (?:\|\n)?([\s\S]*?)\n +(?:for|labels):/.exec(text)![1]!
}))

/** Metrics that an expression asks for, with the labels by which it chooses. */
const selectorsIn = (expression: string) =>
  [...expression.matchAll(/\b((?:netops|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map((
    [, name = "", matchers = ""]
  ) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"([^"]*)"/g)].map(([, label = "", value = ""]) => ({
      label,
      value
    }))
  }))

describe("the alerts", () => {
  it.effect("ask for metrics and labels that are told", () =>
    Effect.gen(function*() {
      const { certificateUntil } = yield* HttpMetrics
      certificateUntil(0)
      const { token } = yield* Callers
      yield* call("GET", "/health/live")
      const { text } = yield* call("GET", "/metrics", { token: token.viewer })
      const told = new Map<string, Set<string>>()
      for (const line of text.split("\n").filter((line) => !line.startsWith("#"))) {
        const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? []
        const known = told.get(name) ?? new Set<string>()
        for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label)
        told.set(name, known)
      }
      const operations = new Set<string>(endpoints.map(({ id }) => id))
      assert.isAbove(alerts.length, 10)
      for (const { expression, name } of alerts) {
        const selectors = selectorsIn(expression)
        assert.isTrue(selectors.length > 0 || expression === "up{job=\"netops\"} == 0", name)
        for (const selector of selectors) {
          const known = told.get(selector.name)
          assert.isDefined(known, `${name} asks for ${selector.name}`)
          for (const { label, value } of selector.labels) {
            assert.isTrue(label === "job" || known!.has(label), `${name} asks for ${selector.name} by ${label}`)
            if (label !== "operation") continue
            for (const operation of value.split("|")) assert.isTrue(operations.has(operation), `${name} ${operation}`)
          }
        }
      }
    }).pipe(Effect.provide(TestApi)))

  it("have a runbook each, with its parts", () => {
    const pages = filesBelow("docs/runbooks", ".md").map((path) => path.slice("docs/runbooks/".length, -".md".length))
    assert.sameMembers(pages.filter((page) => page !== "README"), alerts.map(({ name }) => name))
    for (const { name, text } of alerts) {
      assert.include(text, `runbook: docs/runbooks/${name}.md`)
      const page = read(`docs/runbooks/${name}.md`)
      assert.deepStrictEqual(
        page.split("\n").filter((line) => line.startsWith("#")),
        [`# ${name}`, ...["Symptom", "Meaning", "First checks", "Fix", "Afterwards"].map((part) => `## ${part}`)]
      )
      assert.match(page, /```sh\n.+/)
      assert.include(read("docs/runbooks/README.md"), `[${name}](${name}.md)`)
    }
  })
})

const variable = /^(?:(?:NETOPS|OTEL)_[A-Z_]+|DATABASE_URL|CLICKHOUSE_URL|PORT|HOST|PATH)$/

/** The settings that the code reads. */
const settings = new Set(
  filesBelow("src", ".ts").flatMap((path) =>
    [...read(path).matchAll(/"([A-Z][A-Z_]+)"/g)].map(([, name = ""]) => name).filter((name) => variable.test(name))
  )
)

/** Those in the first column of the table. */
const told = read("docs/operations.md").split("\n").filter((line) => line.startsWith("| `")).flatMap((line) =>
  [...line.split(" | ", 1)[0]!.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name)
)

describe("the documents", () => {
  it("tell each setting once, and none that isn't read", () => {
    assert.isAbove(settings.size, 40)
    assert.sameMembers(told, [...settings])
  })

  it("name no setting that isn't read", () => {
    const places = ["README.md", "SECURITY.md", ...filesBelow("docs", ".md"), ...filesBelow("deploy", "")]
    // Of the tests and the bench.
    const others = /^NETOPS_(?:CHAOS|FUZZ|REQUIRE|BENCH|SEED)/
    for (const path of places.filter((path) => /\.\w+$|Dockerfile|Caddyfile/.test(path))) {
      for (const [name] of read(path).matchAll(/\bNETOPS_[A-Z_]+\b/g)) {
        assert.isTrue(settings.has(name) || others.test(name), `${path} names ${name}`)
      }
    }
  })

  it("lead to files that are there", () => {
    for (const path of ["README.md", "SECURITY.md", ...filesBelow("docs", ".md")]) {
      for (const [, target = ""] of read(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
        assert.isTrue(existsSync(join(dirname(path), target)), `${path} leads to ${target}`)
      }
      for (const [, target = ""] of read(path).matchAll(/`((?:src|test|docs|deploy|bench|examples)\/[\w./-]+)`/g)) {
        assert.isTrue(existsSync(target), `${path} names ${target}`)
      }
    }
  })
})

describe("the unit of systemd", () => {
  const lines = read("deploy/systemd/netops.service").split("\n")

  it("lets the guard of the firewall outlive the service", () => {
    assert.include(lines, "KillMode=process")
    assert.include(lines, "OOMPolicy=continue")
    // Guards are processes of the service's own where this directory is out of sight.
    const [, seen] = /existsSync\("([^"]+)"\)/.exec(read("src/layers/nft/GuardProcess.ts"))!
    assert.include(lines, `TemporaryFileSystem=${dirname(seen!)}`)
    assert.include(lines, "User=netops")
    assert.include(lines, "AmbientCapabilities=CAP_NET_ADMIN CAP_SYS_ADMIN")
  })

  it("starts the service as the package does", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: { readonly start: string } }
    assert.include(lines, `ExecStart=/usr/bin/${scripts.start}`)
  })

  it("gives the settings that the service reads", () => {
    const given = read("deploy/systemd/netops.env").split("\n").filter((line) => /^\w+=/.test(line))
    assert.isAbove(given.length, 3)
    for (const line of given) assert.isTrue(settings.has(line.split("=", 1)[0]!), line)
  })
})
