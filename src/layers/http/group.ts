import {
  type HttpApi,
  HttpApiBuilder,
  type HttpApiEndpoint,
  type HttpApiGroup,
  type HttpServerRequest
} from "@effect/platform"
import { Chunk, Effect, type Layer, type Scope } from "effect"
import { CurrentRequest } from "./CurrentRequest.ts"
import { Execution } from "./Execution.ts"

interface Called {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly path?: { readonly id?: string }
}

type Item = HttpApiBuilder.Handlers.Item<unknown, unknown>

/** `HttpApiBuilder.group`, with `Execution` around each of its handlers. */
export const group = <
  ApiId extends string,
  Groups extends HttpApiGroup.HttpApiGroup.Any,
  ApiError,
  ApiR,
  const Name extends HttpApiGroup.HttpApiGroup.Name<Groups>,
  Return
>(
  api: HttpApi.HttpApi<ApiId, Groups, ApiError, ApiR>,
  name: Name,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<ApiError, ApiR, HttpApiGroup.HttpApiGroup.WithName<Groups, Name>>
  ) => HttpApiBuilder.Handlers.ValidateReturn<Return>
): Layer.Layer<
  HttpApiGroup.ApiGroup<ApiId, Name>,
  HttpApiBuilder.Handlers.Error<Return>,
  | Exclude<
    HttpApiBuilder.Handlers.Context<Return> | HttpApiGroup.HttpApiGroup.MiddlewareWithName<Groups, Name>,
    Scope.Scope
  >
  | Execution
> =>
  HttpApiBuilder.group(
    api,
    name,
    ((handlers: Parameters<typeof build>[0]) =>
      Effect.gen(function*() {
        const execution = yield* Execution
        const built: unknown = build(handlers)
        const declared = (Effect.isEffect(built) ? yield* built as Effect.Effect<unknown> : built) as {
          readonly handlers: Chunk.Chunk<Item>
        }
        const around = (item: Item): Item => ({
          ...item,
          handler: (called) =>
            Effect.flatMap(CurrentRequest, (facts) => {
              const { path, request } = called as Called
              const { successSchema } = item.endpoint as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
              const result = item.handler(called) as Effect.Effect<unknown, unknown, unknown>
              return facts.operation === undefined
                ? result
                : execution.around({ operation: facts.operation, request, facts, path, success: successSchema }, result)
            }) as never
        })
        return Object.assign(Object.create(Object.getPrototypeOf(declared) as object), declared, {
          handlers: Chunk.map(declared.handlers, around)
        })
      })) as never
  ) as never
