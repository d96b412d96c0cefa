import { nftContract } from "../contract/Nft.ts"
import { liveSuite } from "../support/live.ts"
import { NftSandbox } from "./nftSandbox.ts"

liveSuite("nft in a sandbox", ["nft", "unshare", "nsenter"], () => nftContract("command", NftSandbox, 12))
