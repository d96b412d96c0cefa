import { Effect, Layer } from "effect"
import { ServerLive } from "../../src/main.ts"

// A whole node as a process of its own, to be killed.
Effect.runFork(Layer.launch(ServerLive))
