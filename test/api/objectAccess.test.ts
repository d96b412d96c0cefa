import { objectAccess } from "../contract/ObjectAccess.ts"
import { TestApi } from "../support/testApi.ts"

objectAccess("memory", TestApi)
