import { describe } from "@effect/vitest"
import { spawnSync } from "node:child_process"

const has = (command: string) => spawnSync("which", [command], { stdio: "ignore" }).status === 0

/**
 * A suite against real tools as root. Without them it is skipped under a name that says why, and fails instead when
 * `NETOPS_REQUIRE_LIVE=1`.
 */
export const liveSuite = (name: string, requirements: ReadonlyArray<string>, define: () => void): void => {
  const missing = requirements.filter((command) => !has(command))
  if (process.getuid?.() !== 0) missing.push("root")
  if (missing.length === 0) return void describe(name, define)
  if (process.env["NETOPS_REQUIRE_LIVE"] === "1") throw new Error(`${name} needs ${missing.join(", ")}`)
  describe.skip(`${name} (skipped: needs ${missing.join(", ")})`, define)
}
