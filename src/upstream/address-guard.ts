import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";

import { assert, IpNetworks } from "../kernel/index.ts";
import type { FindAddresses } from "./resolve-names.ts";

/** Thrown into a connection attempt that would leave the public internet. */
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
  // Unspecified, loopback, and the old way to write an IPv4 address.
  "::/96",
  // Translated to IPv4 (NAT64, 6to4, Teredo): the address behind it is not ours to judge.
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

/** Is this IP address loopback, private, link-local, shared, multicast or reserved? */
export function isPrivateAddress(address: string): boolean {
  return forbidden.has(address.replace(/^\[|\]$/g, ""));
}

/** Is this host, as a URL has it, a private address or the name of this machine? */
export function isPrivateHost(hostname: string): boolean {
  return isPrivateAddress(hostname) || /(^|\.)localhost\.?$/i.test(hostname);
}

/**
 * A look-up for connections. Unless `allowPrivate`, it refuses private answers: it checks the very
 * address that is then connected to, so a name that changes its answer between two look-ups gains
 * nothing.
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
