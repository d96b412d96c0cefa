import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/chaos/**"],
    setupFiles: ["test/support/setup.ts"],
    globalSetup: ["test/support/globalEngines.ts"],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // Many tests wait for processes, nodes and deadlines more than they compute.
    maxWorkers: 3,
    minWorkers: 1
  }
})
