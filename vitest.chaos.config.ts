import { defineConfig, mergeConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** What kills, freezes and counts for long: `npm run chaos`, never part of `npm test`. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: ["test/chaos/**/*.test.ts", "test/live/cluster.test.ts"], testTimeout: 3_600_000, fileParallelism: false } })
)
