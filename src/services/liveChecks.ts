import { Effect } from "effect"
import type { DhcpEvent } from "../schema/DhcpEvent.ts"
import type { DhcpFilter, DhcpFilterId } from "../schema/DhcpFilter.ts"
import { Authenticator, credentialId } from "./Authenticator.ts"
import { DhcpFilters } from "./DhcpFilters.ts"
import { IpGuard } from "./IpGuard.ts"
import type { Watcher } from "./liveWatcher.ts"

/** Ends the streams whose sessions or tokens are over, and those whose addresses are refused by now. */
const checkAdmission = Effect.fnUntraced(function*(watchers: Iterable<Watcher>) {
  const authenticator = yield* Authenticator
  const guard = yield* IpGuard
  const open = [...watchers].filter(({ ended }) => !ended)
  const alive = yield* authenticator.alive(open.map(({ watch }) => watch.credential))
  for (const watcher of open) {
    const { address, credential, userId } = watcher.watch
    if (!alive.has(credentialId(credential))) watcher.end("session_ended")
    else if (!(yield* guard.stillAdmits(userId, address))) watcher.end("ip_restricted")
  }
})

/** Gives streams the filters that were stated anew, one test for all streams of a filter. */
const checkFilters = Effect.fnUntraced(function*(
  watchers: Iterable<Watcher>,
  testOf: (filter: DhcpFilter) => (event: DhcpEvent) => boolean
) {
  const filters = yield* DhcpFilters
  const users = new Map<DhcpFilterId, Array<Watcher>>()
  for (const watcher of watchers) {
    if (watcher.filter === undefined || watcher.ended) continue
    const { id } = watcher.filter
    users.set(id, [...users.get(id) ?? [], watcher])
  }
  if (users.size === 0) return
  const revisions = yield* filters.revisions([...users.keys()])
  for (const [id, of] of users) {
    const changed = of.filter(({ filter }) => filter!.revision !== revisions.get(id))
    if (changed.length === 0) continue
    const filter = yield* Effect.orElseSucceed(filters.get(changed[0]!.watch.userId, id), () => undefined)
    if (filter === undefined) { for (const watcher of changed) watcher.end("filter_deleted") }
    else {
      const matches = testOf(filter)
      for (const watcher of changed) watcher.refilter(filter, matches)
    }
  }
})

/** Holds open streams to what a new one would be held to. */
export const checkWatchers = (
  watchers: Iterable<Watcher>,
  testOf: (filter: DhcpFilter) => (event: DhcpEvent) => boolean
) => Effect.zipRight(checkAdmission(watchers), checkFilters(watchers, testOf))
