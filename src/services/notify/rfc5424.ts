import type { PipelineRecord } from "../LogPipelineChannel.ts"

// local0, RFC 5424 section 6.2.1.
const facility = 16
const severityNumbers = { info: 6, warning: 4, critical: 2 } as const

const printable = (text: string, max: number): string => text.replace(/[^\x21-\x7e]/g, "-").slice(0, max) || "-"

/** A value of structured data (RFC 5424 section 6.3.3). */
const param = (text: string): string => text.replace(/[\\"\]]/g, "\\$&")

const ascii = (json: string): string =>
  json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

/**
 * A record as a syslog message: the type of the event as MSGID, both ids as structured data (32473 is the number for
 * examples), and as MSG the record's JSON, escaped to ASCII so that it needs no byte order mark.
 */
export const syslogMessage = (
  { deliveryId, eventId, json, severity, time, type }: PipelineRecord,
  hostname: string
): string => {
  const priority = facility * 8 + severityNumbers[severity]
  const ids = `[netops@32473 event="${param(eventId)}" delivery="${param(deliveryId)}"]`
  return `<${priority}>1 ${time} ${printable(hostname, 255)} netops - ${printable(type, 32)} ${ids} ${ascii(json)}`
}

/** Frames of messages by octet counting (RFC 6587 section 3.4.1, RFC 5425 section 4.3). */
export const octetCounted = (messages: ReadonlyArray<string>): Buffer =>
  Buffer.concat(messages.map((message) => {
    const octets = Buffer.from(message, "utf8")
    return Buffer.concat([Buffer.from(`${octets.length} `, "latin1"), octets])
  }))
