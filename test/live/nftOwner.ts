import { Effect, ManagedRuntime } from "effect"
import { Nft } from "../../src/services/Nft.ts"
import { nftIn } from "./nftSandbox.ts"

/** A program that owns a sandbox: adds the table `kept`, prints READY and stays until it is killed. */
const runtime = ManagedRuntime.make(nftIn(process.argv.at(-1) ?? ""))
await runtime.runPromise(
  Effect.flatMap(Nft, (nft) => nft.apply([{ add: { table: { family: "inet", name: "kept" } } }]))
)
process.stdout.write("READY")
setInterval(() => undefined, 1000)
