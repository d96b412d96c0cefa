import { Layer } from "effect"
import { DhcpFiltersMemory } from "../layers/DhcpFiltersMemory.ts"
import { UsersMemory } from "../layers/UsersMemory.ts"
import { dhcpFiltersContract } from "./DhcpFilters.ts"

dhcpFiltersContract("memory", Layer.merge(DhcpFiltersMemory, UsersMemory), 100)
