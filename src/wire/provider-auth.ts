import type { WireId } from "../catalog/catalog.ts";

const AUTH_HEADER: Readonly<Record<WireId, (key: string) => readonly [string, string]>> = {
  wire_a: (key) => ["authorization", `Bearer ${key}`],
  wire_b: (key) => ["x-api-key", key],
};

/** The header with which a provider of this wire expects the marketplace's key. */
export function providerAuthHeader(wire: WireId, key: string): readonly [string, string] {
  return AUTH_HEADER[wire](key);
}
