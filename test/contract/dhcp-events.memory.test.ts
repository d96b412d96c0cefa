import { Layer } from "effect"
import { DhcpEventsMemory, EventMemory } from "../layers/DhcpEventsMemory.ts"
import { dhcpEventsContract } from "./DhcpEvents.ts"

dhcpEventsContract("memory", Layer.provide(DhcpEventsMemory, EventMemory.layer), 30)
