import { Layer } from "effect"
import { SessionsMemory } from "../layers/SessionsMemory.ts"
import { setDisabled, UsersMemory } from "../layers/UsersMemory.ts"
import { sessionsContract } from "./Sessions.ts"

sessionsContract("memory", Layer.merge(SessionsMemory, UsersMemory), setDisabled, 100)
