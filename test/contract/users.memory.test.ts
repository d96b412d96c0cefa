import { UsersMemory } from "../layers/UsersMemory.ts"
import { usersContract } from "./Users.ts"

usersContract("memory", UsersMemory, 100)
