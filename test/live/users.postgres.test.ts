import { Layer } from "effect"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { usersContract } from "../contract/Users.ts"
import { PostgresTest } from "../support/engines.ts"

usersContract("postgres", Layer.provide(UsersPg, PostgresTest), 50)
