import { Problem } from "../Problem.ts"

export class TooManyQueries extends Problem<TooManyQueries>()("TooManyQueries", {
  status: 429,
  title: "Too many metric queries at once",
  help: "One user may have only so many metric queries running. Try again after the time in `Retry-After`."
}) {}
