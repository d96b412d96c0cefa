export type Json = Readonly<Record<string, unknown>>
export type Family = "ip" | "ip6" | "inet" | "arp" | "bridge" | "netdev"

/** A field of a header. */
export const payload = (protocol: string, field: string) => ({ payload: { protocol, field } })
export const match = (left: unknown, right: unknown, op = "==") => ({ match: { op, left, right } })

/** A constant of each kind that meets expressions, four of it. */
export const numbers = [11, 22, 33, 44]
export const hex = ["0x11", "0x22", "0x33", "0x44"]
export const ip4 = ["192.0.2.1", "192.0.2.7", "198.51.100.1", "203.0.113.9"]
export const ip6 = ["2001:db8::1", "2001:db8::7", "2001:db8:1::", "::ffff:192.0.2.1"]
export const macs = ["00:0f:54:0c:11:04", "00:0f:54:0c:11:05", "02:bd:00:00:00:01", "ff:ff:ff:ff:ff:ff"]
export const ifaces = ["lo", "dummy0", "eth*", "wg-home.7"]
export const words = (...all: ReadonlyArray<string>) => [...all, ...all, ...all].slice(0, 4)
export const states = words("established", "related", "new", "invalid")
