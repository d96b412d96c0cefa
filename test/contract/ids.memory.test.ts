import { IdsCrypto } from "../../src/layers/IdsCrypto.ts"
import { IdsSequence } from "../layers/IdsSequence.ts"
import { idsContract } from "./Ids.ts"

idsContract("sequence", IdsSequence)
idsContract("crypto", IdsCrypto)
