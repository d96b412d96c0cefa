const told = process.env["NETOPS_SEED"] ?? "20261121"

/**
 * Where the random cases of every property start. The same ones come with every run, so that a red check is of the change
 * at hand; `NETOPS_SEED=random` looks further, and a number goes back to what that found.
 */
export const seed = told === "random" ? Date.now() % 2 ** 31 : Number(told)
