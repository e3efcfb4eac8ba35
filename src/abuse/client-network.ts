import { parseIp } from "../core/index.ts";

const IPV4_SHIFTS = [24n, 16n, 8n, 0n];
const NETWORK_SHIFTS = [112n, 96n, 80n, 64n];

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
  if (ip.bits === 32) return IPV4_SHIFTS.map((shift) => (ip.value >> shift) & 0xffn).join(".");
  const groups = NETWORK_SHIFTS.map((shift) => ((ip.value >> shift) & 0xffffn).toString(16));
  return `${groups.join(":")}::/64`;
}
