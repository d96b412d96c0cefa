import { Config, ConfigError, Effect, Either, Layer } from "effect"
import { canonicalMac } from "../schema/Mac.ts"
import { ActionLimits, blocksPerHourDefault } from "../services/ActionLimits.ts"

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

const blocksPerHour = Config.integer("NETOPS_BLOCKS_PER_HOUR").pipe(
  Config.withDefault(blocksPerHourDefault),
  Config.validate({ message: "NETOPS_BLOCKS_PER_HOUR must not be negative", validation: (count) => count >= 0 })
)

/** `NETOPS_PROTECTED_MACS`, a list with commas, and `NETOPS_BLOCKS_PER_HOUR` (1000). */
export const ActionLimitsLive = Layer.effect(
  ActionLimits,
  Effect.map(
    Config.all({ protectedMacs: macs, blocksPerHour }),
    (limits) => limits
  )
)
