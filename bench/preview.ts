import { createClient } from "@clickhouse/client"
import { Effect, Schema } from "effect"
import { RuleDraft } from "../src/schema/AutomationRule.ts"
import { compare } from "./harness.ts"
import type { Service } from "./service.ts"

const events = Number(process.env["EVENTS"] ?? 2_000_000)
const clients = events / 100

const generate = `
  INSERT INTO dhcp_events (event_time, protocol, message_type, client, client_mac, assigned_ip, requested_ip, batch, row)
  SELECT
    now64(3) - toIntervalMillisecond(rand64(1) % 3500000),
    'dhcpv4',
    ['discover', 'offer', 'request', 'ack'][number % 4 + 1] AS type,
    concat('02:00:00', arrayStringConcat(arrayMap(i -> concat(':', lower(hex(bitAnd(bitShiftRight(client_number, i), 255)))), [16, 8, 0]))) AS mac,
    mac,
    if(type IN ('offer', 'ack'), toIPv6(concat('::ffff:10.', toString(client_number % 250), '.', toString(number % 3), '.1')), toIPv6('::')),
    if(type = 'request', toIPv6(concat('::ffff:10.', toString(client_number % 250), '.', toString(number % 3), '.1')), toIPv6('::')),
    999999, number
  FROM (SELECT number, rand64(2) % {clients:UInt32} AS client_number FROM numbers({events:UInt64}))`

/** A preview through the API beside the bare SQL that it runs. */
export const preview = async ({ clickHouseUrl, client }: Service) => {
  const clickhouse = createClient({ url: clickHouseUrl, database: "netops", request_timeout: 300_000 })
  try {
    await clickhouse.command({ query: generate, query_params: { clients, events } })
    const payload = Schema.decodeSync(RuleDraft)({
      name: "bench",
      threshold: { min_requests: 75, min_unique_ips: 2 },
      lookback_minutes: 60
    })
    const ask = () => Effect.runPromise(client.automation.testPreview({ payload }))
    const { data } = await ask()
    return await compare({
      title: `preview of a rule over ${events} events of ${clients} clients (${data.TotalCount} detected)`,
      target: "service overhead at most 5 ms",
      ours: { name: "POST test-preview", run: async () => void await ask() },
      peer: {
        name: "bare SQL",
        run: async () => {
          const answer = await clickhouse.query({
            query: data.Query,
            query_params: data.QueryParams as Record<string, unknown>,
            format: "JSON"
          })
          await answer.json()
        }
      }
    })
  } finally {
    await clickhouse.close()
  }
}
