import type { WireId } from "../catalog/catalog.ts";

/** A question that costs nothing and shows whether a provider takes a key. */
export interface CheckKeyRequest {
  /** Path below the deployment's base URL, with a leading slash; asked with GET. */
  readonly path: string;
  /** Names and values without the provider's key, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export type KeyVerdict = "accepted" | "refused" | "unclear";

const HEADERS: Readonly<Record<WireId, Readonly<Record<string, string>>>> = {
  wire_a: {},
  wire_b: { "anthropic-version": "2023-06-01" },
};

/** Asks a provider of this wire for the list of its models: each has one, and it needs the key. */
export function checkKeyRequest(wire: WireId): CheckKeyRequest {
  return { path: "/models", headers: HEADERS[wire] };
}

/** What the status of the answer says about the key. */
export function keyVerdict(status: number): KeyVerdict {
  if (status >= 200 && status < 300) return "accepted";
  return status === 401 || status === 402 || status === 403 ? "refused" : "unclear";
}
