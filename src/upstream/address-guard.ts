import { type LookupAddress, promises as dns } from "node:dns";
import { isIPv6, type LookupFunction } from "node:net";
import { callbackify } from "node:util";

import { assert, IpNetworks, Turns } from "../kernel/index.ts";

export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";
  readonly code = "PRIVATE_ADDRESS";
}

const forbidden = new IpNetworks();
for (const network of [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // The unspecified address, the loopback address, and IPv4-compatible addresses (deprecated).
  "::/96",
  // Translators (SIIT, NAT64, Teredo, 6to4) map the next five ranges to unknown IPv4 addresses.
  "::ffff:0:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "2001::/32",
  "2002::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
]) {
  assert(forbidden.add(network), "a forbidden network is one");
}

/** True for private, local, shared, multicast, reserved and IPv4-translated addresses. */
export function isPrivateAddress(address: string): boolean {
  return forbidden.has(address.replace(/^\[|\]$/g, ""));
}

export function isPrivateHost(hostname: string): boolean {
  return isPrivateAddress(hostname) || isLocalhost(hostname);
}

/**
 * Refuses a name without addresses and, unless `allowPrivate` is true, one with a private address.
 * Returns the addresses that it checked, so a DNS answer cannot change before the connection.
 */
export function guardedLookup(find: FindAddresses, allowPrivate: boolean): LookupFunction {
  const findThen = callbackify(find);
  return (hostname, { all }, callback) => {
    findThen(hostname, (fault, addresses) => {
      if (fault !== null) return callback(fault, "");
      const first = addresses[0];
      const isRefused = !allowPrivate && addresses.some((each) => isPrivateAddress(each.address));
      if (first === undefined || isRefused) {
        return callback(new PrivateAddressError("the name has a private address"), "");
      }
      if (all === true) return callback(null, [...addresses]);
      return callback(null, first.address, first.family);
    });
  };
}

/** Resolves a host name to its addresses, or rejects with an error that has a `code`. */
export type FindAddresses = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Codes of failed look-ups, from the system's resolver and from c-ares. */
export const NAME_FAULTS: ReadonlySet<string> = new Set(
  "ENOTFOUND EAI_AGAIN EAI_FAIL ENODATA ESERVFAIL EREFUSED ETIMEOUT ECANCELLED".split(" "),
);

const REMEMBERED_MS = 30_000;

/**
 * Resolves the host names in the operator's manifests with the system's resolver, which knows the
 * hosts file and search domains. A silent name server blocks one of the resolver's few threads for
 * many seconds, so a name has at most one look-up in flight; its addresses are cached for 30 s.
 */
export function rememberedNames(): FindAddresses {
  const known = new Map<string, Promise<readonly LookupAddress[]>>();
  return async (hostname) => {
    const found = known.get(hostname);
    if (found !== undefined) return await found;
    const asked = dns.lookup(hostname, { all: true });
    known.set(hostname, asked);
    try {
      const addresses = await asked;
      setTimeout(() => known.delete(hostname), REMEMBERED_MS).unref();
      return addresses;
    } catch (fault) {
      known.delete(hostname);
      throw fault;
    }
  };
}

/** Thrown if `whenFull` is `refuse` and an owner has too many look-ups in flight. */
export class NamesBusyError extends Error {
  override readonly name = "NamesBusyError";
  readonly code = "NAMES_BUSY";
}

const LOOKUPS_OF_OWNER_MAX = 2;
const LOOKUP_MS_MAX = 3_000;

/**
 * Resolves names from customers and from providers' answers with c-ares, which blocks no thread.
 * A look-up takes at most 3 s, and ignores the hosts file and the search domains of this machine.
 */
export class ForeignNames {
  readonly #servers: readonly string[];
  readonly #turns = new Turns({ running: LOOKUPS_OF_OWNER_MAX, waiting: Number.POSITIVE_INFINITY });

  /** If `servers` is empty, the system's name servers are asked. */
  constructor(servers: readonly string[] = []) {
    this.#servers = servers;
  }

  /**
   * Resolves names for an `owner`, such as an organization, at most two at once. With `refuse`,
   * further look-ups fail, because a person can retry. With `wait`, they wait their turn, so that a
   * webhook does not fail only because others of the same owner are being sent.
   */
  of(owner: string, whenFull: "refuse" | "wait" = "refuse"): FindAddresses {
    return async (hostname) => {
      if (isLocalhost(hostname)) return LOOPBACK;
      const end = await this.#turns.take(owner, whenFull === "refuse" ? 0 : undefined);
      if (end === undefined) throw new NamesBusyError("too many names are looked up");
      try {
        return await this.find(hostname);
      } finally {
        end();
      }
    };
  }

  async find(hostname: string): Promise<readonly LookupAddress[]> {
    if (isLocalhost(hostname)) return LOOPBACK;
    const resolver = new dns.Resolver({ timeout: LOOKUP_MS_MAX / 2, tries: 2 });
    if (this.#servers.length > 0) resolver.setServers(this.#servers);
    const timer = setTimeout(() => resolver.cancel(), LOOKUP_MS_MAX);
    try {
      const answers = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname),
      ]);
      const found = answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
      const [first] = answers;
      if (found.length === 0 && first.status === "rejected") throw first.reason;
      return found.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    } finally {
      clearTimeout(timer);
    }
  }
}

/** RFC 6761 (section 6.3) reserves `localhost` and all names under it for loopback addresses. */
function isLocalhost(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

const LOOPBACK = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
