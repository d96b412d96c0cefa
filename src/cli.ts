#!/usr/bin/env node
import { Command } from "@effect/cli"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { demo } from "./cli/demo.ts"
import { tellFailure } from "./cli/failure.ts"
import { ingest } from "./cli/ingest.ts"
import { login } from "./cli/login.ts"
import { migrateCommand } from "./cli/migrate.ts"
import { openapi } from "./cli/openapi.ts"
import { serve } from "./cli/serve.ts"
import { user } from "./cli/user.ts"

const netops = Command.make("netops").pipe(
  Command.withDescription("Network Operations API: DHCP clients seen, judged and acted on"),
  Command.withSubcommands([serve, migrateCommand, ingest, login, user, openapi, demo])
)

Command.run(netops, { name: "netops", version: "0.1.0" })(process.argv).pipe(
  tellFailure,
  Effect.provide(NodeContext.layer),
  // The layer of the log says how it is written.
  NodeRuntime.runMain({ disablePrettyLogger: true })
)
