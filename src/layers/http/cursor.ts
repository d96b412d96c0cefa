import { InvalidRequest } from "../../api/problems.ts"

const message = "Expected the `next` of a page of this list"

export const invalidCursor = () =>
  new InvalidRequest({
    detail: `The query is not valid at /cursor: ${message}`,
    errors: [{ in: "query", pointer: "/cursor", message }]
  })
