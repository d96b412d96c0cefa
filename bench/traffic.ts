const mac = (n: string) =>
  `concat('02:00:', arrayStringConcat(arrayMap(i -> lower(hex(reverse(toString(char(bitAnd(bitShiftRight(${n}, i), 255)))))), [24, 16, 8, 0]), ':'))`
const ip = (n: string) => `toIPv6(concat('::ffff:', IPv4NumToString(toUInt32(167772160 + (${n}) % 16777216))))`
const none = "toIPv6('::')"

/** How much traffic over how long, in milliseconds. */
export interface Amount {
  readonly events: number
  readonly clients: number
  readonly range_ms: number
}

/**
 * Rows as `client number, milliseconds of the range, message type, assigned, requested`: clients at random; clients
 * that renew their lease each half hour; and half of everything from 50 clients that ask for ever new addresses.
 */
const traffics = {
  uniform: ({ clients, events, range_ms }: Amount) =>
    `SELECT rand64(1) % ${clients} AS n, intDiv(number * ${range_ms}, ${events}) AS ms,
    ['discover', 'request', 'ack', 'offer'][number % 4 + 1] AS type,
    if(number % 4 >= 2, ${ip("n")}, ${none}) AS assigned, if(number % 4 = 1, ${ip("n")}, ${none}) AS requested
    FROM numbers(${events})`,
  renewing: ({ clients, events, range_ms }: Amount) =>
    `SELECT intDiv(number, 2) % ${clients} AS n,
    (intDiv(intDiv(number, 2), ${clients}) * 1800000 + cityHash64(n) % 1800000 + number % 2) % ${range_ms} AS ms,
    if(number % 2 = 0, 'request', 'ack') AS type, ${ip("n")} AS assigned, ${none} AS requested
    FROM numbers(${events})`,
  attack: ({ clients, events, range_ms }: Amount) =>
    `SELECT if(number % 2 = 0, rand64(3) % 50, rand64(1) % ${clients}) AS n,
    intDiv(number * ${range_ms}, ${events}) AS ms,
    if(number % 2 = 0, 'discover', 'request') AS type, ${none} AS assigned,
    if(number % 2 = 0, ${ip("rand64(4)")}, ${ip("n")}) AS requested
    FROM numbers(${events})`
} as const
export type Traffic = keyof typeof traffics
export const trafficNames = Object.keys(traffics) as ReadonlyArray<Traffic>

const tables = ["dhcp_events", "dhcp_activity_1h", "dhcp_activity_1d", "dhcp_unique_ips_1m", "dhcp_unique_ips_1h"]

/** Statements that leave this traffic, from `begin` on, and no other in the tables of events and rollups. */
export const fillStatements = (traffic: Traffic, begin_ms: number, amount: Amount): ReadonlyArray<string> => [
  ...tables.map((table) => `TRUNCATE TABLE ${table}`),
  `INSERT INTO dhcp_events
    (event_time, protocol, message_type, client, client_mac, assigned_ip, requested_ip, batch, row)
    SELECT fromUnixTimestamp64Milli(toInt64(${begin_ms} + ms), 'UTC'), 'dhcpv4', type, ${mac("n")} AS c, c, assigned,
      requested, 1, 1
    FROM (${traffics[traffic](amount)}) SETTINGS insert_deduplicate = 0, max_partitions_per_insert_block = 0`
]
