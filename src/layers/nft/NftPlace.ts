import { Config, Context, Duration, Effect, Layer } from "effect"
import { DataDir } from "../DataDir.ts"
import { type NftTarget, nftTarget } from "./NftTarget.ts"
import { toolPath } from "./runTool.ts"

const settings = Config.all({
  path: toolPath,
  timeout: Config.duration("NETOPS_NFT_TIMEOUT").pipe(Config.withDefault(Duration.seconds(10)))
})

/** Where nft runs, shared by what runs it; `NETOPS_NFT_TIMEOUT` (10 s) bounds each call. */
export class NftPlace extends Context.Tag("layers/NftPlace")<
  NftPlace,
  {
    readonly target: NftTarget
    readonly options: { readonly dataDir: string; readonly path: string; readonly timeout: Duration.Duration }
  }
>() {}

export const NftPlaceLive = Layer.effect(
  NftPlace,
  Effect.gen(function*() {
    const { path: dataDir } = yield* DataDir
    const options = { dataDir, ...(yield* settings) }
    return { options, target: yield* nftTarget(options) }
  })
)
