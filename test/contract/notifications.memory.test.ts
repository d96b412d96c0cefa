import { Layer } from "effect"
import { LogPipelineChannelMemory, NotificationRulesMemory, SilencesMemory } from "../layers/NotificationsMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { notificationRulesContract } from "./NotificationRules.ts"

notificationRulesContract(
  "memory",
  Layer.mergeAll(NotificationRulesMemory, SilencesMemory, LogPipelineChannelMemory, UsersMemory)
)
