import { ExpiringCache, formatUsd, instant, type OrgId, type Usage } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { type PriceChanges, PriceNotice } from "./contract/catalog.ts";
import type { Handlers } from "./handler.ts";
import type { ReportGates } from "./concurrency-gate.ts";
import {
  type Catalog,
  comingPrices,
  costElsewhere,
  type Deployment,
  deploymentAt,
  isDearer,
  leastCostElsewhere,
  type PriceSheet,
  tierBounds,
} from "../../catalog/index.ts";
import type { SizedTokens } from "../../gateway/index.ts";
import { sortBounds, toSizedUse } from "./model-costs.ts";
import { lastDays } from "./overview.ts";
import { present } from "./present.ts";
import { presentTiers } from "./present-model.ts";
import { presentPrices } from "./present-request.ts";

const NOTICES_MAX = 20;
/** How long notices are cached: every page reads them, and changes are announced days ahead. */
const KEPT_MS = 60_000;
/** An empty answer is cached for a short time: use of a model with a price change may begin. */
const NONE_KEPT_MS = 5_000;
const KEPT_ORGS_MAX = 1_000;

export function priceChangeHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<"GET /api/console/price-changes"> {
  const { catalog, clock } = deps;
  const kept = new ExpiringCache<PriceChanges>(KEPT_MS, KEPT_ORGS_MAX);
  const keptNone = new ExpiringCache<PriceChanges>(NONE_KEPT_MS, KEPT_ORGS_MAX);
  return {
    "GET /api/console/price-changes": async ({ session }) => {
      const { orgId } = session;
      const changes = comingChanges(catalog.current, clock.nowMs());
      // Most of the time no change is announced, and then the journal is not read.
      if (changes.length === 0) return { data: [] };
      const key = `${orgId} ${catalog.current.buildId}`;
      const nowMs = clock.monotonicMs();
      const known = kept.get(key, nowMs) ?? keptNone.get(key, nowMs);
      if (known !== undefined) return known;
      return await gates.reads.run(orgId, async () => {
        const read = { data: await readNotices(deps, orgId, changes) };
        (read.data.length > 0 ? kept : keptNone).set(key, read, clock.monotonicMs());
        return read;
      });
    },
  };
}

/** Runs its queries one after another, since the gate counts the request as one query. */
export async function readNotices(
  { reports, clock }: Pick<ConsoleDeps, "reports" | "clock">,
  orgId: OrgId,
  changes: readonly ComingChange[],
): Promise<PriceNotice[]> {
  const range = { orgId, ...lastDays(clock.nowMs()) };
  const { groups } = await reports.report(range, "model");
  const used = groups.flatMap(({ group }) =>
    changes.filter(({ listing }) => listing.modelId === group),
  );
  const bounds = changeBounds(used);
  if (used.length === 0) return [];
  const sized = await reports.tokensBySize(range, { promptTokens: bounds, totalTokens: [] });
  const notices: PriceNotice[] = [];
  for (const change of used.slice(0, NOTICES_MAX)) {
    const { modelId, providerId, modality } = change.listing;
    const providers = await reports.report({ ...range, modelIds: [modelId] }, "provider");
    const figures = providers.groups.find(({ group }) => group === providerId)?.figures;
    if (figures === undefined) continue;
    const { requests, usage } = figures;
    const own = sized?.filter((each) => each.modelId === modelId && each.providerId === providerId);
    // `tokensBySize` leaves out the routes of other models.
    const known = modality === "text" ? own : undefined;
    notices.push(priceNotice(change, { requests, usage, sized: known }, bounds));
  }
  return notices;
}

interface ComingChange {
  readonly listing: Deployment;
  readonly name: string;
  readonly fromMs: number;
  readonly before: PriceSheet;
  readonly after: PriceSheet;
}

interface ListingUse {
  readonly requests: number;
  readonly usage: Usage;
  /** Tokens grouped by the prompt sizes at which prices change; undefined if sizes are unknown. */
  readonly sized: readonly SizedTokens[] | undefined;
}

/** Finds the next change of customers' prices for each routed listing that bills by the token. */
export function comingChanges({ models }: Catalog, nowMs: number): readonly ComingChange[] {
  return models.flatMap(({ displayName, deployments }) =>
    deployments.flatMap((each): ComingChange[] => {
      const listing = deploymentAt(each, nowMs);
      const { prices: before } = listing;
      if (before === null || listing.billing !== "token") return [];
      const next = comingPrices(listing).find(
        ({ prices }) => serializeSale(before) !== serializeSale(prices),
      );
      if (next === undefined) return [];
      const { fromMs, prices: after } = next;
      return [{ listing, name: displayName, fromMs, before, after }];
    }),
  );
}

/** The prompt sizes at which a price of these listings changes. */
export function changeBounds(changes: readonly ComingChange[]): readonly number[] {
  return sortBounds(changes.flatMap((of) => [...tierBounds(of.before), ...tierBounds(of.after)]));
}

/** `bounds` are the prompt sizes by which `use` was grouped. */
export function priceNotice(
  change: ComingChange,
  use: ListingUse,
  bounds: readonly number[],
): PriceNotice {
  const { listing, before, after } = change;
  const hasTiers = changeBounds([change]).length > 0;
  const computeCost = (prices: PriceSheet): string => {
    if (use.sized === undefined) return formatUsd(leastCostElsewhere(prices, use.usage));
    // Requests with the customer's own provider key cost the same after the change.
    const billed = use.sized.filter(({ isOwnKey }) => !isOwnKey);
    const tokens = billed.map((each) => toSizedUse(each, bounds));
    return formatUsd(costElsewhere(prices, tokens));
  };
  const record = { ...listing, ...change, requests: use.requests };
  return present(PriceNotice, record, {
    notice_id: `${listing.id}@${instant(change.fromMs)}`,
    old: { prices: presentPrices(before), price_tiers: presentTiers(before) },
    new: { prices: presentPrices(after), price_tiers: presentTiers(after) },
    is_rise: isDearer(after, before),
    cost_old_usd: computeCost(before),
    cost_new_usd: computeCost(after),
    is_at_least: hasTiers && use.sized === undefined,
  });
}

/** Two results are equal if customers pay the same, even if the provider's own price changes. */
function serializeSale(prices: PriceSheet): string {
  return JSON.stringify([presentPrices(prices), presentTiers(prices)]);
}
