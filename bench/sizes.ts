import { createHash } from "node:crypto";
import type { KeyId, ModelId, OrgId, ProviderId } from "../src/kernel/core/ids.ts";

export interface Sizes {
  readonly organizations: number;
  /** Number of keys. The organizations get one key each in turn until no key is left. */
  readonly keys: number;
  /** Each listing is one model of one provider. */
  readonly listings: number;
  /** Finished attempts in the journal, with their transfers and spend. */
  readonly attempts: number;
  /** Number of days over which the attempts are spread, today included. */
  readonly days: number;
}

export const SIZE_OPTIONS = {
  organizations: { value: 1_000, max: 100_000 },
  keys: { value: 100_000, max: 1_000_000 },
  listings: { value: 10_000, max: 100_000 },
  attempts: { value: 5_000_000, max: 100_000_000 },
  days: { value: 60, max: 365 },
} as const;

/** Throws an error if an organization would have no key or a day no attempt. */
export function checkedSizes(sizes: Sizes): Sizes {
  const { organizations, keys, listings, attempts, days } = sizes;
  if (keys < organizations) throw new Error("--keys: each organization needs one");
  if (attempts < days) throw new Error("--attempts: each of the --days needs one");
  return { organizations, keys, listings, attempts, days };
}

export interface Active {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly rawKey: string;
  readonly modelId: ModelId;
  readonly providerId: ProviderId;
  readonly pinId: string;
}

/** Callers spread evenly over an installation; the first belongs to its largest organization. */
export function activeOf(sizes: Sizes, active: number): readonly Active[] {
  return Array.from({ length: active }, (_, at) => {
    const organization = Math.floor((at * sizes.organizations) / active);
    const rounds = Math.floor(sizes.keys / sizes.organizations);
    const key = organization + sizes.organizations * (at % rounds);
    const listing = Math.floor((at * sizes.listings) / active);
    return {
      orgId: `org_${organization}` as OrgId,
      keyId: `key_${key}` as KeyId,
      rawKey: `tm_vk_${createHash("sha256").update(`key ${key}`).digest("hex").slice(0, 48)}`,
      modelId: modelIdOf(listing) as ModelId,
      providerId: providerIdOf(listing) as ProviderId,
      pinId: `pin_${listing}`,
    };
  });
}

export const MODELS_PER_PROVIDER = 100;

/** The IDs must equal those that the SQL in `bench/fill-books.ts` makes. */
export function modelIdOf(listing: number): string {
  return `growth/model-${listing}`;
}

export function providerIdOf(listing: number): string {
  return `growth-${Math.floor(listing / MODELS_PER_PROVIDER)}`;
}
