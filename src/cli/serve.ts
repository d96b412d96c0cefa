import { Command } from "@effect/cli"
import { Layer } from "effect"
import { ServerLive } from "../main.ts"

export const serve = Command.make("serve", {}, () => Layer.launch(ServerLive)).pipe(
  Command.withDescription("Serve the API until it is told to stop")
)
