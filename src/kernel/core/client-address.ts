import { IpNetworks, parseIp } from "./ip-network.ts";

const NETWORKS_MAX = 256;
/** A request passes a few proxies; more entries, and earlier ones, are written by the client. */
const HOPS_MAX = 32;
const HEADER_CHARS_MAX = 2_048;

/** What is wrong with a list of networks (`10.0.0.0/8, 2001:db8::/32`); undefined: nothing. */
export function networksProblem(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const entries = entriesOf(text);
  if (entries.length > NETWORKS_MAX) return `has more than ${NETWORKS_MAX} networks`;
  const networks = new IpNetworks();
  const wrong = entries.find((entry) => !networks.add(entry));
  if (wrong === undefined) return undefined;
  return `has ${JSON.stringify(wrong)}, which is not a network; write it like 10.0.0.0/8 or 2001:db8::/32`;
}

/**
 * Who a request comes from, where proxies are trusted to say so: the last address of
 * `x-forwarded-for` that is not a trusted proxy's own. Each proxy appends the address it was called
 * from, so everything before that one may have been made up by the client.
 */
export class ClientAddresses {
  readonly #trusted = new IpNetworks();
  readonly #trustsAny: boolean;

  /** `networks`: a list without a problem. */
  constructor(networks: string) {
    this.#trustsAny = entriesOf(networks).filter((entry) => this.#trusted.add(entry)).length > 0;
  }

  /** `peer` is the other end of the connection, `forwarded` the header of its request. */
  of(peer: string | undefined, forwarded: string | undefined): string | undefined {
    if (!this.#trustsAny || peer === undefined || forwarded === undefined) return peer;
    let client = bareAddress(peer) ?? peer;
    const hops = lastHops(forwarded);
    while (this.#trusted.has(client)) {
      const before = bareAddress(hops.pop() ?? "");
      if (before === undefined) break;
      client = before;
    }
    return client;
  }
}

/** The last entries of the header; one that its bound cuts is none. */
function lastHops(forwarded: string): string[] {
  const entries = forwarded.slice(-HEADER_CHARS_MAX).split(",");
  if (forwarded.length > HEADER_CHARS_MAX) entries.shift();
  return entries.slice(-HOPS_MAX);
}

/** An address as proxies write it: in brackets, with a port, or IPv4 mapped into IPv6. */
function bareAddress(text: string): string | undefined {
  const entry = text.trim();
  const inBrackets = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1];
  const withPort = /^(\d[\d.]*):\d{1,5}$/.exec(entry)?.[1];
  const address = inBrackets ?? withPort ?? entry;
  if (parseIp(address) === undefined) return undefined;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}

function entriesOf(text: string): readonly string[] {
  return text.split(",").map((entry) => entry.trim());
}
