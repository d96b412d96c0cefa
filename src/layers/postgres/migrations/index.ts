import { Migrator } from "@effect/sql"

/** Ids only grow: the migrator runs what is greater than the last recorded id, and nothing else. */
export const migrations = Migrator.fromRecord({})
