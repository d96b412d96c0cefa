import { CaptureFailed, type CaptureFailure, CaptureToolMissing } from "../../services/PacketCapture.ts"

const messageLengthMax = 300

export const toolMissing = new CaptureToolMissing({
  tool: "tshark",
  message: "tshark is not installed: `apt-get install tshark` (Debian, Ubuntu), " +
    "`dnf install wireshark-cli` (Fedora), `brew install wireshark` (macOS)"
})

/** What tshark says on standard error about the failure, without its chatter; empty when it says nothing. */
export const complaintOf = (stderr: string): string => {
  const lines = stderr.split("\n").map((line) => line.trim())
  const start = lines.findLastIndex((line) =>
    /^(?:tshark|dumpcap|exec|setns|Cannot open)\b.*\S/.test(line) && !/^tshark:$/.test(line)
  )
  if (start < 0) return ""
  const end = lines.findIndex((line, index) => index > start && !/^\(.*\)$/.test(line))
  const text = lines.slice(start, end < 0 ? undefined : end).join(" ").replace(/^tshark: /, "")
  return text.length > messageLengthMax ? `${text.slice(0, messageLengthMax)}…` : text
}

/** Whether the file ends early or is damaged further on: the packets before that are good. */
export const cutShort = (complaint: string): boolean => /cut short|damaged or corrupt/i.test(complaint)

const reasons: ReadonlyArray<readonly [RegExp, CaptureFailure]> = [
  [/permission|not permitted|privilege/i, "permission"],
  [/no device named|no such device|no interface|that device is not up|adapter/i, "no-such-interface"],
  [/capture file|\(folder\)|directory|special file/i, "not-a-capture"],
  [/doesn't exist|no such file/i, "not-found"]
]

const advice = (reason: CaptureFailure, live: boolean): string =>
  reason === "permission" && live
    ? " Capturing needs root, or dumpcap with cap_net_raw (group wireshark on Debian)."
    : ""

/** The typed error of a run of tshark that failed. */
export const failureOf = (from: string, live: boolean, complaint: string): CaptureFailed | CaptureToolMissing => {
  if (/exec of "?tshark"? failed/.test(complaint)) return toolMissing
  const reason = reasons.find(([pattern]) => pattern.test(complaint))?.[1] ?? "other"
  const said = complaint === "" ? "tshark stopped without saying why." : complaint
  return new CaptureFailed({ reason, from, message: `${said}${advice(reason, live)}` })
}
