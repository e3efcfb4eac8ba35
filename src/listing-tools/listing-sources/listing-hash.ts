import { createHash } from "node:crypto";

import type { ManifestListingTerms, ManifestModel } from "../../catalog/index.ts";

/** SHA-256 of a listing and its terms, whatever the order of their fields: a hand edit changes it. */
export function listingHash(model: ManifestModel, terms: ManifestListingTerms | undefined): string {
  const text = canonicalJson(terms === undefined ? { model } : { model, terms });
  return createHash("sha256").update(text).digest("hex");
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}
