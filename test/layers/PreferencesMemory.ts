import { Effect, Layer } from "effect"
import type { UserId } from "../../src/schema/User.ts"
import { mergeSettings } from "../../src/schema/UserSettings.ts"
import { type Preference, Preferences } from "../../src/services/Preferences.ts"
import { isExpected, RevisionMismatch } from "../../src/services/Revision.ts"

export const PreferencesMemory = Layer.sync(Preferences, () => {
  const rows = new Map<UserId, Preference>()
  const get = (userId: UserId): Preference => rows.get(userId) ?? { settings: {}, revision: 0 }
  return Preferences.of({
    forgetFilter: (userId, filterId) =>
      Effect.sync(() => {
        const { revision, settings } = get(userId)
        if (settings.default_filter_id !== filterId) return
        rows.set(userId, { settings: { ...settings, default_filter_id: null }, revision: revision + 1 })
      }),
    get: (userId) => Effect.sync(() => get(userId)),
    merge: (userId, given, expected) =>
      Effect.suspend(() => {
        const { revision, settings } = get(userId)
        if (!isExpected(expected, revision)) return Effect.fail(new RevisionMismatch({ revision }))
        const changed = { settings: mergeSettings(settings, given), revision: revision + 1 }
        rows.set(userId, changed)
        return Effect.succeed(changed)
      })
  })
})
