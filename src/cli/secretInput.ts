import { Prompt } from "@effect/cli"
import { Effect, Redacted } from "effect"
import { text } from "node:stream/consumers"

/** A secret typed unseen at a terminal, else the first line of standard input. */
export const secretInput = (message: string) =>
  process.stdin.isTTY
    ? Prompt.run(Prompt.password({ message }))
    : Effect.promise(() => text(process.stdin)).pipe(Effect.map((input) => Redacted.make(input.split(/\r?\n/, 1)[0]!)))
