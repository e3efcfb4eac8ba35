import type { FastifyRequest } from "fastify";

import { wideNetwork, type ClientAddresses } from "../../kernel/index.ts";

/** The client's own address, where proxies are trusted to say it. */
export function clientAddressOf(
  addresses: ClientAddresses,
  { ip, headers }: Pick<FastifyRequest, "ip" | "headers">,
): string | undefined {
  const forwarded = headers["x-forwarded-for"];
  return addresses.of(ip, typeof forwarded === "string" ? forwarded : undefined);
}

/** Of a request that begins or ends a session: who it is, is not known before. */
export function askedFrom(
  { clientAddresses }: { readonly clientAddresses: ClientAddresses },
  request: Pick<FastifyRequest, "id" | "ip" | "headers">,
): { readonly requestId: string; readonly clientNetwork: string | null } {
  const clientNetwork = wideNetwork(clientAddressOf(clientAddresses, request));
  return { requestId: request.id, clientNetwork };
}
