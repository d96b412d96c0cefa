import { Config, ConfigError, Effect, Either, Layer } from "effect"
import { canonicalMac } from "../schema/Mac.ts"
import { ActionLimits, blocksPerHourDefault, bulkMaxDefault } from "../services/ActionLimits.ts"

const macs = Config.string("NETOPS_PROTECTED_MACS").pipe(
  Config.withDefault(""),
  Config.mapOrFail((text) => {
    const words = text.split(/[\s,]+/).filter((word) => word !== "")
    const wrong = words.filter((word) => canonicalMac(word) === undefined)
    return wrong.length > 0
      ? Either.left(ConfigError.InvalidData(["NETOPS_PROTECTED_MACS"], `${wrong.join(", ")}: not a MAC address`))
      : Either.right(new Set(words.map((word) => canonicalMac(word)!)))
  })
)

const count = (name: string, fallback: number) =>
  Config.integer(name).pipe(
    Config.withDefault(fallback),
    Config.validate({ message: `${name} must not be negative`, validation: (count) => count >= 0 })
  )

/**
 * `NETOPS_PROTECTED_MACS`, a list with commas, `NETOPS_BLOCKS_PER_HOUR` (1000) and `NETOPS_BULK_MAX_CLIENTS` (10 000).
 */
export const ActionLimitsLive = Layer.effect(
  ActionLimits,
  Effect.map(
    Config.all({
      protectedMacs: macs,
      blocksPerHour: count("NETOPS_BLOCKS_PER_HOUR", blocksPerHourDefault),
      bulkMax: count("NETOPS_BULK_MAX_CLIENTS", bulkMaxDefault)
    }),
    (limits) => limits
  )
)
