import { Command } from "@effect/cli"
import { OpenApi } from "@effect/platform"
import { Console } from "effect"
import { Api } from "../api/Api.ts"

export const openapi = Command.make("openapi", {}, () => Console.log(JSON.stringify(OpenApi.fromApi(Api), null, 2)))
  .pipe(Command.withDescription("Print the OpenAPI document"))
