import { Effect, Layer, Ref } from "effect"
import { clientOf } from "../../src/schema/DhcpEvent.ts"
import { isRequestOf } from "../../src/services/DetectionRules.ts"
import { compileDhcpEventPredicate } from "../../src/services/DhcpEventPredicate.ts"
import { ObservedClients } from "../../src/services/ObservedClients.ts"
import { EventMemory } from "./DhcpEventsMemory.ts"

export const ObservedClientsMemory = Layer.effect(
  ObservedClients,
  Effect.map(EventMemory, (memory) =>
    ObservedClients.of({
      match: ({ events, limit, minRequests, withoutMac }) =>
        Effect.map(Ref.get(memory), ({ rows }) => {
          const matches = compileDhcpEventPredicate(events)
          const requests = new Map<string, number>()
          for (const { event } of rows) {
            const client = clientOf(event)
            if (client === "" || !matches(event)) continue
            requests.set(client, (requests.get(client) ?? 0) + (isRequestOf(event) ? 1 : 0))
          }
          const found = [...requests].filter(([, count]) => count >= (minRequests ?? 0)).map(([client]) => client)
          const counted = withoutMac ? found : found.filter((client) => client.includes(":"))
          return {
            clients: counted.sort((a, b) => a < b ? -1 : 1).slice(0, limit),
            total: counted.length,
            skippedWithoutMac: found.length - counted.length
          }
        })
    }))
)
