import { BlockList, isIP } from "node:net";

/**
 * The 4 bytes of an IPv4 address or the 8 groups of an IPv6 one; one of IPv4 that is mapped into
 * IPv6 is the IPv4 address, and a zone behind `%` is left out. Undefined: the text is no address.
 */
export function parseIp(text: string): readonly number[] | undefined {
  const [bare = ""] = text.split("%");
  const family = isIP(bare);
  if (family !== 6) return family === 4 ? bare.split(".").map(Number) : undefined;
  // A host of a URL is written in groups alone, the longest run of zeros left out.
  const [before = [], after = []] = new URL(`http://[${bare}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => half.split(":").flatMap((group) => (group === "" ? [] : parseInt(group, 16))));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  const groups = [...before, ...zeros, ...after];
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]) : groups;
}

/** Networks: `10.0.0.0/8`, `2001:db8::/32`, or single addresses. */
export class IpNetworks {
  // One for each family: a list finds an IPv4 address in a network of IPv6 that holds its mapped form.
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  /** False: the text is not a network. */
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
