import { Schema } from "effect"

/** One object of libnftables JSON (libnftables-json(5)): a single key, its kind (`table`, `set`…), and its properties. */
export const NftObject = Schema.Record({ key: Schema.String, value: Schema.Unknown })
export type NftObject = typeof NftObject.Type

/**
 * One command of libnftables JSON: its verb and an object, such as `{add: {table: {family, name}}}`; a bare list
 * object stands for its `add`.
 */
export const NftCommandObject = Schema.Record({ key: Schema.String, value: Schema.Unknown })
export type NftCommandObject = typeof NftCommandObject.Type

/** A document of libnftables JSON as nft prints it and reads it. */
export const Nftables = Schema.Struct({ nftables: Schema.Array(NftObject) })
export type Nftables = typeof Nftables.Type
