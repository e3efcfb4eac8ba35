import { parseIp } from "../../kernel/index.ts";

/** An IPv4 address or none at all: its own network in both cases. */
const DIGITS_AND_DOTS = /^[\d.]+$/;

/**
 * The network of a client's address: an IPv4 address for itself, an IPv6 address for
 * its first 64 bits, because one subscriber has all of those and changes the others by itself.
 */
export function clientNetwork(address: string): string {
  if (DIGITS_AND_DOTS.test(address)) return address;
  const ip = parseIp(address);
  if (ip === undefined) return address.toLowerCase();
  if (ip.length === 4) return ip.join(".");
  const groups = ip.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(":")}::/64`;
}
