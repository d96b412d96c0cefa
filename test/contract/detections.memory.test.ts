import { Layer } from "effect"
import { DetectionsMemory } from "../layers/DetectionsMemory.ts"
import { DhcpEventsMemory, EventMemory } from "../layers/DhcpEventsMemory.ts"
import { detectionsContract } from "./Detections.ts"

detectionsContract(
  "memory",
  Layer.merge(DetectionsMemory, DhcpEventsMemory).pipe(Layer.provide(EventMemory.layer)),
  20
)
