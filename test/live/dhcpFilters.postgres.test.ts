import { Layer } from "effect"
import { DhcpFiltersPg } from "../../src/layers/postgres/DhcpFiltersPg.ts"
import { UsersPg } from "../../src/layers/postgres/UsersPg.ts"
import { dhcpFiltersContract } from "../contract/DhcpFilters.ts"
import { PostgresTest } from "../support/engines.ts"

dhcpFiltersContract("postgres", Layer.merge(DhcpFiltersPg, UsersPg).pipe(Layer.provide(PostgresTest)), 20)
