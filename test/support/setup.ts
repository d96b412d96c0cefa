import { addEqualityTesters } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { seed } from "./seed.ts"

addEqualityTesters()
fc.configureGlobal({ seed })
