import { Layer } from "effect"
import { AuditTrailMemory } from "../layers/AuditTrailMemory.ts"
import { FeedbackBoxMemory } from "../layers/FeedbackBoxMemory.ts"
import { IdempotencyKeysMemory } from "../layers/IdempotencyKeysMemory.ts"
import { IpRestrictionsMemory } from "../layers/IpRestrictionsMemory.ts"
import { PreferencesMemory } from "../layers/PreferencesMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { accessContract } from "./Access.ts"
import { auditTrailContract } from "./AuditTrail.ts"

accessContract(
  "memory",
  Layer.mergeAll(UsersMemory, IpRestrictionsMemory, PreferencesMemory, FeedbackBoxMemory, IdempotencyKeysMemory),
  100
)

auditTrailContract("memory", AuditTrailMemory, 100)
