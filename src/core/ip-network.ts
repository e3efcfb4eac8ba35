/** An IP address as a number; one of IPv4 that is mapped into IPv6 is the IPv4 address. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** All addresses that begin with the same `prefix` bits. */
export interface IpNetwork extends IpAddress {
  readonly prefix: number;
}

const GROUPS = 8;
/** ::ffff:0:0/96 */
const MAPPED = 0xffffn;

/** Undefined when the text is not an address; a zone behind `%` is left out. */
export function parseIp(text: string): IpAddress | undefined {
  const [bare = ""] = text.split("%");
  if (!bare.includes(":")) {
    const value = parseIpv4(bare);
    return value === undefined ? undefined : { bits: 32, value };
  }
  const value = parseIpv6(bare);
  if (value === undefined) return undefined;
  return value >> 32n === MAPPED
    ? { bits: 32, value: BigInt.asUintN(32, value) }
    : { bits: 128, value };
}

/** `10.0.0.0/8`, `2001:db8::/32`, or a single address. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [first = "", length, ...more] = text.split("/");
  const address = parseIp(first);
  if (address === undefined || more.length > 0) return undefined;
  const prefix = length === undefined ? address.bits : prefixOf(length);
  return prefix <= address.bits ? { ...address, prefix } : undefined;
}

export function isWithin(network: IpNetwork, address: IpAddress): boolean {
  if (network.bits !== address.bits) return false;
  const hostBits = BigInt(network.bits - network.prefix);
  return network.value >> hostBits === address.value >> hostBits;
}

function prefixOf(text: string): number {
  return /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split(".");
  const isWhole = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part));
  if (!isWhole || parts.some((part) => Number(part) > 255)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [before, after] = halves.map((half, at) => groupsOf(half, at === halves.length - 1));
  if (before === undefined || (halves.length === 2 && after === undefined)) return undefined;
  const given = before.length + (after?.length ?? 0);
  if (halves.length === 2 ? given >= GROUPS : given !== GROUPS) return undefined;
  const zeros = Array.from({ length: GROUPS - given }, () => 0n);
  return [...before, ...zeros, ...(after ?? [])].reduce(
    (value, group) => (value << 16n) | group,
    0n,
  );
}

/** The last 32 bits of all may be written as an IPv4 address. */
function groupsOf(half: string, isLast: boolean): readonly bigint[] | undefined {
  if (half === "") return [];
  const groups: bigint[] = [];
  const words = half.split(":");
  for (const [at, word] of words.entries()) {
    if (isLast && at === words.length - 1 && word.includes(".")) {
      const value = parseIpv4(word);
      if (value === undefined) return undefined;
      groups.push(value >> 16n, value & 0xffffn);
    } else if (/^[0-9a-f]{1,4}$/i.test(word)) {
      groups.push(BigInt(`0x${word}`));
    } else {
      return undefined;
    }
  }
  return groups;
}
