import { NftMemory } from "../layers/NftMemory.ts"
import { nftContract } from "./Nft.ts"

nftContract("memory", NftMemory, 100)
