import { Layer } from "effect"
import { UnitOfWork } from "../../src/services/UnitOfWork.ts"

/** Handlers check before they write, so that over memory there is nothing to undo. */
export const UnitOfWorkMemory = Layer.succeed(UnitOfWork, UnitOfWork.of({ transaction: (effect) => effect }))
