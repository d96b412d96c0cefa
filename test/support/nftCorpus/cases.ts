import { declared } from "./declared.ts"
import { expressions } from "./expressions.ts"
import { forms } from "./forms.ts"
import { furniture } from "./furniture.ts"
import { statements } from "./statements.ts"
import type { Family } from "./words.ts"

/**
 * Rulesets over the breadth of libnftables-json(5): expressions in every form in which constants meet them, statements,
 * sets, maps and stateful objects, each in the families where they might stand. Many are refused by any one version of
 * nft. Written for this project after the manual; nothing of it is from nftables' own tests.
 */
export interface NftCase {
  readonly name: string
  readonly nftables: ReadonlyArray<unknown>
}

/** All cases; the same at every call. */
export const nftCorpus = (): ReadonlyArray<NftCase> => {
  const rule = (family: Family, expr: ReadonlyArray<unknown>, chain = "c"): NftCase => ({
    name: `${family} ${JSON.stringify(expr)}`,
    nftables: [...furniture(family), { add: { rule: { family, table: "corpus", chain, expr } } }]
  })
  const isNat = (expr: ReadonlyArray<unknown>) => /"(?:dnat|redirect)"/.test(JSON.stringify(expr))
  const chainFor = (family: Family, expr: ReadonlyArray<unknown>) =>
    isNat(expr) && (family === "ip" || family === "inet") ? "nat" : "c"
  return [
    ...expressions.flatMap((meeting) =>
      meeting[2].flatMap((family) => forms(meeting).map((expr) => rule(family, expr, chainFor(family, expr))))
    ),
    ...statements.flatMap(([families, ...expr]) =>
      families.map((family) => rule(family, expr, chainFor(family, expr)))
    ),
    ...statements.flatMap(([families, ...expr]) => families.map((family) => rule(family, expr, "side"))),
    ...declared.map((nftables) => ({ name: JSON.stringify(nftables), nftables }))
  ]
}
