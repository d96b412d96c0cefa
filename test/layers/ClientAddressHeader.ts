import { Layer } from "effect"
import { ClientAddress } from "../../src/layers/http/ClientAddress.ts"

/** Requests in process come from no socket: they name their address themselves. */
export const ClientAddressHeader = Layer.succeed(
  ClientAddress,
  ClientAddress.of({ of: (request) => request.headers["x-test-address"] ?? "192.0.2.1" })
)
