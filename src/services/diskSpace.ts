import { prettyBytes, type RetentionConfig } from "../schema/Retention.ts"
import { diskWarningPercent } from "./Retention.ts"

/** The figures of a disk of so many bytes. */
export const diskSpace = (total_bytes: number, free_bytes: number): RetentionConfig["disk_space"] => {
  const used_bytes = total_bytes - free_bytes
  const used_percent = total_bytes === 0 ? 0 : used_bytes / total_bytes * 100
  return {
    total_bytes,
    used_bytes,
    free_bytes,
    used_percent: Math.round(used_percent * 100) / 100,
    warning_level: used_percent >= diskWarningPercent,
    total_pretty: prettyBytes(total_bytes),
    used_pretty: prettyBytes(used_bytes),
    free_pretty: prettyBytes(free_bytes)
  }
}
