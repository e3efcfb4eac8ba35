import { join } from "node:path";

import type { Logger } from "pino";

import {
  type Catalog,
  CHECK_DAYS_MAX,
  type Deployment,
  type PriceSheet,
  staleListings,
  zeroPricePin,
} from "../catalog/index.ts";
import {
  type Clock,
  type Config,
  defined,
  type Environment,
  Fault,
  SETTINGS,
} from "../kernel/index.ts";
import type { PinnedSheet, PricePin } from "../ledger/index.ts";
import {
  type CatalogSources,
  loadCatalog,
  type LoadedCatalog,
  PRIVATE_NOTE,
  renderIssue,
} from "./load-catalog.ts";
import type { Logging } from "./logging.ts";
import type { Backend } from "./open-backend.ts";
import type { SecretFiles } from "./secret-files.ts";
import { SHIPPED_MANIFESTS } from "./shipped-files.ts";

export class CatalogFault extends Fault {}

export interface CatalogOptions {
  readonly config: Config;
  readonly env: Environment;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backend: Pick<Backend, "ledgerBatchStore">;
  /** The secrets in `env` that come from files, which a reload reads again. */
  readonly secrets?: SecretFiles;
  /** Called at the start with provider keys, and at reloads with all secrets, to hide them. */
  readonly hide?: Logging["hide"];
  readonly rewriteManifests?: CatalogSources["rewrite"];
}

export type GoodCatalog = Extract<LoadedCatalog, { ok: true }>;

export function catalogSources(options: CatalogOptions): CatalogSources {
  const { config, env, clock, rewriteManifests, secrets } = options;
  const own = defined({ fileProblems: secrets?.problems, rewrite: rewriteManifests });
  return { ...config, env, clock, ...own };
}

export async function firstCatalog(options: CatalogOptions): Promise<GoodCatalog> {
  const isFolderOptional = hasDefaultFolder(options.config);
  const loaded = loadCatalog({ ...catalogSources(options), isFolderOptional });
  if (!loaded.ok) {
    const lines = loaded.issues.map(renderIssue);
    throw new CatalogFault(`the manifests cannot be compiled:\n${lines.join("\n")}`);
  }
  logNotes(options.log, loaded);
  options.hide?.(listProviderKeys(loaded.catalog, options.env));
  warnOfStale(options, loaded.catalog);
  if (loaded.settlementTerms.size === 0) warnOfNoManifests(options);
  await options.backend.ledgerBatchStore.ensurePricePins(pricePins(loaded.catalog));
  return loaded;
}

export function hasDefaultFolder({ manifestsDir }: Config): boolean {
  return manifestsDir === SETTINGS.manifestsDir.fallback;
}

export function listProviderKeys({ deployments }: Catalog, env: Environment): readonly string[] {
  const names = new Set(deployments.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []));
  return [...names].flatMap((name) => env[name] ?? []);
}

const STALE_SHOWN_MAX = 50;

function warnOfStale({ log }: CatalogOptions, catalog: Catalog): void {
  const stale = staleListings(catalog);
  if (stale.length === 0) return;
  const shown = stale.slice(0, STALE_SHOWN_MAX);
  log.warn(
    { listings: shown.map(({ deployment, on }) => ({ listing: deployment.id, checked_on: on })) },
    `prices of ${stale.length} listings were checked over ${CHECK_DAYS_MAX} days ago; ` +
      "compare them with `tokenmarket manifest refresh`",
  );
}

function warnOfNoManifests({ log, config: { manifestsDir } }: CatalogOptions): void {
  log.warn(
    {
      next: [
        `mkdir -p ${manifestsDir}`,
        `cp ${join(SHIPPED_MANIFESTS, "openai.json")} ${manifestsDir}/`,
        "export OPENAI_API_KEY=...",
        "npx tokenmarket serve",
      ],
    },
    `there are no provider manifests in ${manifestsDir}, so requests for every model are answered with 404; ` +
      "`next` lists the commands that add a provider, and `npx tokenmarket dev` runs a simulated provider",
  );
}

export function logNotes(
  log: Logger,
  { notes, leftOut }: Pick<GoodCatalog, "notes" | "leftOut">,
): void {
  // Logs one line per manifest and reason, because a hundred listings can lack the same key. Each
  // listing that is sold at a loss gets a line of its own.
  const groups = new Map<string, { readonly first: (typeof notes)[number]; listings: number }>();
  for (const note of notes) {
    if (note.reason === "purchase_above_price") {
      log.warn(note, "listing sold at a loss");
      continue;
    }
    const key = `${note.file} ${note.reason}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: note, listings: 1 });
    else group.listings += 1;
  }
  for (const { first, listings } of groups.values()) {
    const { file, reason, message } = first;
    log.info({ file, reason, listings, example: message }, "listings not routed");
  }
  for (const file of leftOut) log.info({ file }, `skipped: ${PRIVATE_NOTE}`);
}

/**
 * The prices that the ledger must have before an attempt refers to them: each deployment's dated
 * prices, with their tiers and purchase prices, and those for a customer's own provider key.
 */
export function pricePins(catalog: Catalog): PricePin[] {
  return catalog.deployments.flatMap((deployment) => {
    const { prices, datedPrices, billing } = deployment;
    if (prices === null) return [];
    const zero = zeroPricePin(deployment);
    const own = datedPrices?.map((dated) => dated.prices) ?? [prices];
    const all = [...own.flatMap(({ purchase }) => purchase ?? []), ...own];
    const tiers = all.flatMap((each) => (each.tiers ?? []).map((tier) => tier.prices));
    return [
      ...tiers.map((each) => pricePin(deployment, each)),
      ...all.map((each) => ({
        ...pricePin(deployment, each),
        // No sheets if the provider reports its cost: such a cost is not computed from prices.
        ...(billing === "token" && { sheets: toPinnedSheets(each) }),
      })),
      { ...pricePin(deployment, zero), sheets: toPinnedSheets(zero) },
    ];
  });
}

function toPinnedSheets({ pinId, tiers = [] }: PriceSheet): PinnedSheet[] {
  return [
    { abovePromptTokens: 0, pinId },
    ...tiers.map(({ abovePromptTokens, prices }) => ({ abovePromptTokens, pinId: prices.pinId })),
  ];
}

function pricePin({ providerId, modelId }: Deployment, prices: PriceSheet): PricePin {
  const { pinId, purchase, tiers: _tiers, ...rates } = prices;
  return {
    pinId,
    providerId,
    modelId,
    prices: rates,
    ...(purchase !== undefined && { purchasePinId: purchase.pinId }),
  };
}
