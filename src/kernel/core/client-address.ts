import { BlockList, isIP } from "node:net";

const NETWORKS_MAX = 256;
/** Entries further left are not read, because a request hardly passes this many proxies. */
const HOPS_MAX = 32;
const HEADER_CHARS_MAX = 2_048;

/** Says what is wrong with a list of networks (`10.0.0.0/8, ::1`); undefined if it is valid. */
export function networksProblem(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const entries = splitEntries(text);
  if (entries.length > NETWORKS_MAX) return `has more than ${NETWORKS_MAX} networks`;
  const networks = new IpNetworks();
  const wrong = entries.find((entry) => !networks.add(entry));
  if (wrong === undefined) return undefined;
  return `has ${JSON.stringify(wrong)}, which is not a network; write it like 10.0.0.0/8 or 2001:db8::/32`;
}

/**
 * Finds a request's client: the peer or, if that is a trusted proxy, the last address of
 * `x-forwarded-for` that is not one. Each proxy appends the address that called it, so the client
 * may have forged every entry before the one found.
 */
export class ClientAddresses {
  readonly #trusted = new IpNetworks();
  readonly #trustsAny: boolean;

  constructor(networks: string) {
    this.#trustsAny = splitEntries(networks).filter((entry) => this.#trusted.add(entry)).length > 0;
  }

  /** `peer` is the address that opened the connection, `forwarded` the header `x-forwarded-for`. */
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

/** Returns the last 32 entries at most, without an entry that the length bound cuts in two. */
function lastHops(forwarded: string): string[] {
  const entries = forwarded.slice(-HEADER_CHARS_MAX).split(",");
  if (forwarded.length > HEADER_CHARS_MAX) entries.shift();
  return entries.slice(-HOPS_MAX);
}

/** Strips what proxies add to an address: brackets, a port, or the mapping of IPv4 into IPv6. */
function bareAddress(text: string): string | undefined {
  const entry = text.trim();
  const inBrackets = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1];
  const withPort = /^(\d[\d.]*):\d{1,5}$/.exec(entry)?.[1];
  const address = inBrackets ?? withPort ?? entry;
  if (parseIp(address) === undefined) return undefined;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}

function splitEntries(text: string): readonly string[] {
  return text.split(",").map((entry) => entry.trim());
}

/**
 * Parses an address into 4 bytes (IPv4, also if mapped into IPv6) or 8 groups (IPv6), without a
 * zone after `%`. Undefined if the text is not an address.
 */
export function parseIp(text: string): readonly number[] | undefined {
  const [bare = ""] = text.split("%");
  const family = isIP(bare);
  if (family !== 6) return family === 4 ? bare.split(".").map(Number) : undefined;
  // URL normalizes the host to hexadecimal groups, with the longest run of zeros as `::`.
  const [before = [], after = []] = new URL(`http://[${bare}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => half.split(":").flatMap((group) => (group === "" ? [] : parseInt(group, 16))));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  const groups = [...before, ...zeros, ...after];
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]) : groups;
}

export class IpNetworks {
  // One list per IP version: one BlockList would match IPv4 addresses against IPv6 networks.
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  add(text: string): boolean {
    const [first = "", length, ...more] = text.split("/");
    const parts = parseIp(first);
    if (parts === undefined || more.length > 0) return false;
    const [address, family] = written(parts);
    const bits = family === "ipv4" ? 32 : 128;
    const prefix = /^\d{1,3}$/.test(length ?? "") ? Number(length) : Number.NaN;
    if (length !== undefined && !(prefix <= bits)) return false;
    this.#lists[family].addSubnet(address, length === undefined ? bits : prefix, family);
    return true;
  }

  has(address: string): boolean {
    const parts = parseIp(address);
    if (parts === undefined) return false;
    const [text, family] = written(parts);
    return this.#lists[family].check(text, family);
  }
}

function written(parts: readonly number[]): [address: string, family: "ipv4" | "ipv6"] {
  if (parts.length === 4) return [parts.join("."), "ipv4"];
  return [parts.map((group) => group.toString(16)).join(":"), "ipv6"];
}
