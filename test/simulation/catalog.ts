import type { Catalog } from "../../src/catalog/catalog.ts";
import { compileCatalog } from "../../src/catalog/compile-catalog.ts";
import { parseManifestFiles } from "../../src/catalog/load-manifests.ts";

/** Prices that share no factor: a debit from the wrong bucket or listing shows. */
function listing(id: string, completion: string): object {
  const price = (type: string, usd: string): object => ({
    type,
    unit: "token",
    cost_usd_per_million: usd,
  });
  return {
    id,
    context_length: 200_000,
    streaming: true,
    // Enough for most scenarios; now and then a pool, or a share of it, is used up.
    capacity: [
      { type: "request", per: "minute", value: 40 },
      { type: "prompt", unit: "token", per: "hour", value: 40_000 },
    ],
    pricing: [
      price("prompt", "3.100007"),
      price("cached_prompt", "0.310007"),
      price("cache_write", "3.770003"),
      price("completion", completion),
      price("internal_reasoning", "19.000013"),
    ],
  };
}

interface ProviderSpec {
  readonly id: string;
  readonly dialect: "wire_a" | "wire_b";
  readonly priority: number;
  readonly models: readonly object[];
}

function manifestOf({ id, dialect, priority, models }: ProviderSpec): object {
  return {
    manifest_version: "1",
    provider: {
      id,
      name: id,
      privacy_policy_url: "https://example.com/privacy",
      prompt_logging: "none",
      priority,
    },
    endpoint: { base_url: `https://${id}.example/v1`, dialect },
    settlement: { mode: "arrears", interval: "daily" },
    models,
  };
}

const MANIFESTS: readonly object[] = [
  manifestOf({
    id: "alder",
    dialect: "wire_a",
    priority: 1,
    models: [listing("sim/wide", "15.130009"), listing("sim/single", "7.000001")],
  }),
  manifestOf({
    id: "birch",
    dialect: "wire_b",
    priority: 2,
    models: [listing("sim/wide", "16.170011"), listing("sim/pair", "11.000027")],
  }),
  manifestOf({
    id: "cedar",
    dialect: "wire_a",
    priority: 3,
    models: [listing("sim/wide", "14.510003"), listing("sim/pair", "12.000031")],
  }),
];

/** Models by how many providers serve them: three, two, one. */
export const MODELS: readonly string[] = ["sim/wide", "sim/wide", "sim/pair", "sim/single"];

/** Three providers on both wires, compiled from manifests as the program does it. */
export function simulatedCatalog(): Catalog {
  const files = MANIFESTS.map((manifest, at) => ({
    file: `manifest-${at}.json`,
    text: JSON.stringify(manifest),
  }));
  const parsed = parseManifestFiles(files);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const outcome = compileCatalog({
    manifests: parsed.manifests,
    hasKey: () => true,
    today: "2026-01-01",
  });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.issues));
  return outcome.catalog;
}
