import * as effect from "@effect/eslint-plugin"
import tseslint from "typescript-eslint"

const dprint = {
  indentWidth: 2,
  lineWidth: 120,
  semiColons: "asi",
  quoteStyle: "alwaysDouble",
  trailingCommas: "never",
  operatorPosition: "maintain",
  "arrowFunction.useParentheses": "force"
}

/** Import direction: schema <- services, schema <- api, schema + services + api <- layers <- main and cli. */
const forbid = (from, ...folders) => ({
  files: [`src/${from}/**/*.ts`],
  rules: {
    "no-restricted-imports": ["error", {
      patterns: [{ regex: `/(${folders.join("|")})/`, message: `${from} must not import ${folders.join(", ")}` }]
    }]
  }
})

export default [
  { ignores: ["dist", "node_modules", ".netops", "*.mjs"] },
  ...effect.configs.dprint,
  {
    files: ["src/**/*.ts", "test/**/*.ts", "bench/**/*.ts"],
    languageOptions: { parser: tseslint.parser },
    plugins: { "@typescript-eslint": tseslint.plugin },
    rules: {
      "@effect/dprint": ["error", { config: dprint }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "no-console": "error"
    }
  },
  forbid("schema", "api", "services", "layers", "cli"),
  forbid("services", "api", "layers", "cli"),
  forbid("api", "services", "layers", "cli"),
  forbid("layers", "cli"),
  {
    files: ["src/{schema,services,api,layers}/**/*.ts"],
    ignores: ["src/layers/**/config.ts", "src/layers/clickhouse/front/**"],
    rules: { "no-restricted-properties": ["error", { object: "process", property: "env", message: "read Config" }] }
  }
]
