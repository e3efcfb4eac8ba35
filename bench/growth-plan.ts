import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import type { KeyId, ModelId, OrgId, ProviderId } from "../src/core/ids.ts";

/** How large an installation is made. */
export interface Sizes {
  readonly organizations: number;
  /** Dealt out to the organizations in turn. */
  readonly keys: number;
  /** Models, each of one provider. */
  readonly listings: number;
  /** Finished attempts in the journal, with their transfers and spend. */
  readonly attempts: number;
  /** Days of partitions they are spread over, today included. */
  readonly days: number;
}

export interface GrowthOptions {
  readonly sizes: Sizes;
  /** Keys, of as many organizations, for as many models, that the load rotates over. */
  readonly active: number;
  readonly rounds: number;
  /** Length of one measured window. */
  readonly seconds: number;
  readonly connections: number;
  readonly audit: boolean;
  readonly build: boolean;
  readonly save: boolean;
}

export const USAGE: string = `npm run bench:growth -- [options]
  --organizations 1000   of the grown installation
  --keys 100000
  --listings 10000
  --attempts 5000000     in the journal
  --days 60              of partitions
  --active 100           organizations, keys and models in use while it is measured, in both
  --rounds 5             interleaved rounds; minimum and median are printed
  --seconds 3            length of one measured window
  --connections 64
  --audit                prove the grown books at the end
  --no-build             measure dist/ as it is
  --save                 write docs/growth.md`;

const DECLARED = {
  organizations: { type: "string", default: "1000" },
  keys: { type: "string", default: "100000" },
  listings: { type: "string", default: "10000" },
  attempts: { type: "string", default: "5000000" },
  days: { type: "string", default: "60" },
  active: { type: "string", default: "100" },
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "3" },
  connections: { type: "string", default: "64" },
  audit: { type: "boolean", default: false },
  "no-build": { type: "boolean", default: false },
  save: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** The options of this run, or undefined when only the usage was asked for. */
export function parseGrowthOptions(args: readonly string[]): GrowthOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: DECLARED, strict: true });
  if (values.help) return undefined;
  const sizes: Sizes = {
    organizations: count("organizations", values.organizations, 100_000),
    keys: count("keys", values.keys, 1_000_000),
    listings: count("listings", values.listings, 100_000),
    attempts: count("attempts", values.attempts, 100_000_000),
    days: count("days", values.days, 365),
  };
  if (sizes.keys < sizes.organizations) throw new Error("--keys: each organization needs one");
  if (sizes.attempts < sizes.days) throw new Error("--attempts: each of the --days needs one");
  const active = count("active", values.active, Math.min(sizes.organizations, sizes.listings));
  return {
    sizes,
    active,
    rounds: count("rounds", values.rounds, 100),
    seconds: count("seconds", values.seconds, 300),
    connections: count("connections", values.connections, 1_000),
    audit: values.audit,
    build: !values["no-build"],
    save: values.save,
  };
}

function count(name: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value <= max) return value;
  throw new Error(`--${name} must be a whole number from 1 to ${max}, got ${text}`);
}

/** What the grown installation is compared with: all that is in use, and nothing else. */
export function sizesInUse(active: number): Sizes {
  return { organizations: active, keys: active, listings: active, attempts: 0, days: 0 };
}

/** One caller and what it asks for. */
export interface Active {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly rawKey: string;
  readonly modelId: ModelId;
  readonly providerId: ProviderId;
  readonly pinId: string;
}

/**
 * The callers of the load, spread evenly over an installation. The first is of the organization with
 * the longest history.
 */
export function activeOf(sizes: Sizes, active: number): readonly Active[] {
  return Array.from({ length: active }, (_, at) => {
    const organization = Math.floor((at * sizes.organizations) / active);
    const rounds = Math.floor(sizes.keys / sizes.organizations);
    const key = organization + sizes.organizations * (at % rounds);
    const listing = Math.floor((at * sizes.listings) / active);
    return {
      orgId: `org_${organization}` as OrgId,
      keyId: `key_${key}` as KeyId,
      rawKey: rawKeyOf(key),
      modelId: modelIdOf(listing) as ModelId,
      providerId: providerIdOf(listing) as ProviderId,
      pinId: `pin_${listing}`,
    };
  });
}

export const MODELS_PER_PROVIDER = 100;

/** The names of `bench/growth-fill.ts`, which makes the same ones in SQL. */
export function modelIdOf(listing: number): string {
  return `growth/model-${listing}`;
}

export function providerIdOf(listing: number): string {
  return `growth-${Math.floor(listing / MODELS_PER_PROVIDER)}`;
}

function rawKeyOf(key: number): string {
  return `tm_vk_${createHash("sha256").update(`key ${key}`).digest("hex").slice(0, 48)}`;
}
