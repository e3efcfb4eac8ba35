import { parseIp } from "../core/client-address.ts";
import type { ChangedBy } from "./change.ts";

/** The operator at a command line, by the user of the machine. */
export function byOperator(user: string): ChangedBy {
  return { kind: "operator", id: user, requestId: null, clientNetwork: null };
}

/** This program, by itself; `part` says which of its parts. */
export function byGateway(part: string): ChangedBy {
  return { kind: "gateway", id: part, requestId: null, clientNetwork: null };
}

/** The report of a payment provider, by itself or on request, as an author. */
export function byProviderNews(provider: string): ChangedBy {
  return { kind: "provider_news", id: provider, requestId: null, clientNetwork: null };
}

/**
 * A person with a console session, or a program with a virtual key. `operator`: the id is the
 * account of an operator at the console's operator pages.
 */
export function byCaller(caller: {
  readonly kind: "account" | "key" | "operator";
  readonly id: string;
  readonly requestId: string;
  readonly clientAddress: string | undefined;
}): ChangedBy {
  const { kind, id, requestId, clientAddress } = caller;
  return { kind, id, requestId, clientNetwork: wideNetwork(clientAddress) };
}

/**
 * The network an address is in, wide enough to name no household: /24 of IPv4, /48 of IPv6. Null
 * where there is no address.
 */
export function wideNetwork(address: string | undefined): string | null {
  const ip = address === undefined ? undefined : parseIp(address);
  if (ip === undefined) return null;
  if (ip.length === 4) return `${ip.slice(0, 3).join(".")}.0/24`;
  const groups = ip.slice(0, 3).map((group) => group.toString(16));
  return `${groups.join(":")}::/48`;
}

/** Enough of an e-mail address to see that another one is meant: `a…@example.com`. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf("@");
  return at < 1 ? "…" : `${email.slice(0, 1)}…${email.slice(at)}`;
}
