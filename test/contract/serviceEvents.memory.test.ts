import { ServiceEventsMemory } from "../layers/ServiceEventsMemory.ts"
import { serviceEventsContract } from "./ServiceEvents.ts"

serviceEventsContract("memory", ServiceEventsMemory, 50)
