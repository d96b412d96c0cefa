import { Effect, Layer, Schema } from "effect"
import { requestTypes } from "../../schema/DhcpEvent.ts"
import { ObservedClients } from "../../services/ObservedClients.ts"
import { ClickHouse } from "./ClickHouse.ts"
import { dhcpEventColumns } from "./DhcpEventColumns.ts"
import { compileFilterSql } from "./FilterSql.ts"
import { makeSqlParams } from "./SqlParams.ts"

const words = (texts: ReadonlyArray<string>) => texts.map((text) => `'${text}'`).join(", ")
const isRequest = `if(protocol = 'dhcpv4', message_type IN (${words(requestTypes.dhcpv4)}), ` +
  `message_type IN (${words(requestTypes.dhcpv6)}))`

// A client is a MAC or a DUID, and DUIDs hold no colon.
const isMac = "substring(client, 3, 1) = ':'"

const Answer = Schema.Tuple(Schema.Struct({
  with_mac: Schema.Int,
  without_mac: Schema.Int,
  clients: Schema.Array(Schema.String)
}))

export const ObservedClientsClickHouse = Layer.effect(
  ObservedClients,
  Effect.gen(function*() {
    const clickhouse = yield* ClickHouse
    const decode = Schema.decodeUnknown(Answer)
    return ObservedClients.of({
      match: Effect.fn("ObservedClients.match")(function*({ events, limit, minRequests, withoutMac }) {
        const params = makeSqlParams()
        const where = compileFilterSql(events, dhcpEventColumns, params)
        const having = minRequests === undefined
          ? ""
          : `HAVING countIf(${isRequest}) >= ${params.bind("UInt64", minRequests)}`
        const { rows } = yield* Effect.orDie(clickhouse.query({
          query: `SELECT
  countIf(${isMac}) AS with_mac,
  countIf(NOT ${isMac}) AS without_mac,
  arraySlice(arraySort(groupArray${withoutMac ? "(client)" : `If(client, ${isMac})`}), 1, ${
            params.bind("UInt64", limit)
          }) AS clients
FROM (
  SELECT client
  FROM dhcp_events
  WHERE client != '' AND ${where}
  GROUP BY client
  ${having}
)`,
          params: params.values
        }))
        const [{ clients, with_mac, without_mac }] = yield* Effect.orDie(decode(rows))
        return {
          clients,
          total: withoutMac ? with_mac + without_mac : with_mac,
          skippedWithoutMac: withoutMac ? 0 : without_mac
        }
      })
    })
  })
)
