import { Schema } from "effect"
import { Problem } from "../Problem.ts"
import { Violation } from "../problems.ts"

export class DeliveryDone extends Problem<DeliveryDone>()("DeliveryDone", {
  status: 400,
  title: "The delivery has arrived already",
  help: "Only what waits, was given up or was dropped can be sent again."
}) {}

export class ChannelNotConfigured extends Problem<ChannelNotConfigured>()("ChannelNotConfigured", {
  status: 400,
  title: "The channel is not configured",
  help: "Configure it first: `PUT /api/notifications/channels/log-pipeline`."
}) {}

export class ChannelUnreachable extends Problem<ChannelUnreachable>()("ChannelUnreachable", {
  status: 400,
  title: "The pipeline did not take the event",
  help: "`detail` says what its host answered or why it could not be reached. What waits is sent as soon as it can be."
}) {}

export class SilenceOver extends Problem<SilenceOver>()("SilenceOver", {
  status: 400,
  title: "The silence would never be in force",
  help: "`ends_at` has to be after `starts_at` and in the future."
}) {}

export class ChannelRejected extends Problem<ChannelRejected>()(
  "ChannelRejected",
  {
    status: 400,
    title: "The channel can not be applied",
    help:
      "`errors` says what is wrong with the configuration, or why its target could not be reached. The channel stays as it was."
  },
  { errors: Schema.Array(Violation) }
) {}
