import { objectAccess } from "../contract/ObjectAccess.ts"
import { PostgresPorts } from "../support/postgresPorts.ts"
import { testApi } from "../support/testApi.ts"

objectAccess("postgres", testApi(PostgresPorts as never))
