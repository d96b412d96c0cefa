import { safeWrites } from "../contract/SafeWrites.ts"
import { TestApi } from "../support/testApi.ts"

safeWrites("memory", TestApi)
