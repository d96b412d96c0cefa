import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/chaos/**/*.test.ts"],
    setupFiles: ["test/support/setup.ts"],
    globalSetup: ["test/support/globalEngines.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    // Each has the machine for itself: what is measured are takeovers.
    fileParallelism: false
  }
})
