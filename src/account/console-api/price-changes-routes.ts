import { ExpiringCache, type OrgId } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { PriceChanges, PriceNotice } from "./contract.ts";
import type { priceChangeRoutes } from "./contract/price-changes.ts";
import type { Handlers } from "./handler.ts";
import { changeBounds, type ComingChange, comingChanges, priceNotice } from "./price-notices.ts";
import type { ReportGates } from "./concurrency-gate.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
const NOTICES_MAX = 20;
/** How long notices are cached: every page reads them, and changes are announced days ahead. */
const KEPT_MS = 60_000;
/**
 * How long an answer without notices is cached. It is short, because the organization may just be
 * calling one of the models for the first time.
 */
const NONE_KEPT_MS = 5_000;
const KEPT_ORGS_MAX = 1_000;

export function priceChangeHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof priceChangeRoutes> {
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

/**
 * Runs its queries one after another, by model and then by provider, since the request holds only
 * one permit of the organization's concurrency gate.
 */
async function readNotices(
  { reports, clock }: ConsoleDeps,
  orgId: OrgId,
  changes: readonly ComingChange[],
): Promise<PriceNotice[]> {
  // Whole UTC days including today, so that most of them are read from stored sums.
  const toMs = (Math.floor(clock.nowMs() / DAY_MS) + 1) * DAY_MS;
  const range = { orgId, fromMs: toMs - DAYS * DAY_MS, toMs };
  const { groups } = await reports.report(range, "model");
  const used = groups.flatMap(({ group }) =>
    changes.filter(({ listing }) => listing.modelId === group),
  );
  const bounds = changeBounds(used);
  if (used.length === 0) return [];
  const sized = await reports.tokensBySize(range, { promptTokens: bounds, totalTokens: [] });
  const notices: PriceNotice[] = [];
  for (const change of used.slice(0, NOTICES_MAX)) {
    const { modelId, providerId } = change.listing;
    const providers = await reports.report({ ...range, modelIds: [modelId] }, "provider");
    const served = providers.groups.filter(({ group }) => group !== "none");
    const figures = served.find(({ group }) => group === providerId)?.figures;
    if (figures === undefined) continue;
    // Sizes are known by model only, so they are of no use if another provider served the model
    // too.
    const isAlone = served.length === 1;
    const { requests, usage } = figures;
    const own = isAlone ? sized?.filter((each) => each.modelId === modelId) : undefined;
    notices.push(priceNotice(change, { requests, usage, sized: own }, bounds));
  }
  return notices;
}
