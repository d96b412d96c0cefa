import { accessApiContract } from "../contract/AccessApi.ts"
import { TestApi } from "../support/testApi.ts"

accessApiContract("memory", TestApi)
