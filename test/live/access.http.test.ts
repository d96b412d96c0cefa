import { accessApiContract } from "../contract/AccessApi.ts"
import { PostgresPorts } from "../support/postgresPorts.ts"
import { testApi } from "../support/testApi.ts"

accessApiContract("postgres", testApi(PostgresPorts as never))
