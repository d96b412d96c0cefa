import { safeWrites } from "../contract/SafeWrites.ts"
import { PostgresPorts } from "../support/postgresPorts.ts"
import { testApi } from "../support/testApi.ts"

safeWrites("postgres", testApi(PostgresPorts as never))
