import { defined, ExpiringCache, groupBy, instant } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { AnswerOf, FiguresAt, ListingFigures, ProviderFigures } from "./contract.ts";
import type { listingFigureRoutes, ListingQuery } from "./contract/listing-figures.ts";
import { computeFigures, HOUR_MS, type ListingSums } from "../../gateway/index.ts";
import type { Handlers } from "./handler.ts";
import { CachedRead } from "./cached-read.ts";
import { lastDays } from "./overview.ts";
import { PublicDocument } from "./public-document.ts";
import type { ReportGates } from "./concurrency-gate.ts";

const HOURS = 48;
/** How long an organization's figures are cached; their sums change once an hour. */
const KEPT_MS = 60_000;
const KEPT_ANSWERS_MAX = 500;
/** How long published sums are cached; published days change once a day. */
const PUBLISHED_KEPT_MS = 600_000;
const PUBLISHED_KEPT_SECONDS = 300;

export function listingFigureHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof listingFigureRoutes> {
  const { listingFigures, clock } = deps;
  const kept = new ExpiringCache<AnswerOf<"GET /api/console/listing-figures">>(
    KEPT_MS,
    KEPT_ANSWERS_MAX,
  );
  const readPublished = openPublishedFigures(deps);
  return {
    "GET /api/console/listing-figures": async ({ session, query }) => {
      const { orgId } = session;
      const { model, provider } = query;
      const key = JSON.stringify([orgId, model, provider]);
      const known = kept.get(key, clock.monotonicMs());
      if (known !== undefined) return known;
      const nowMs = clock.nowMs();
      const { fromMs: dayMs } = lastDays(nowMs);
      const from = { dayMs, hourMs: nowMs - HOURS * HOUR_MS };
      const filter = defined({ orgId, modelId: model, providerId: provider });
      return await gates.reads.run(orgId, async () => {
        const { days, hours } = await listingFigures.own(filter, from);
        const as = { hours, hasHistory: hasHistory(query), isRounded: false };
        const listings = presentListings(days, as);
        const answer = { from: instant(dayMs), listings, providers: presentProviders(days, as) };
        kept.set(key, answer, clock.monotonicMs());
        return answer;
      });
    },

    "GET /api/listing-figures.json": ({ query }) => readPublished(query),
  };
}

const NOT_SHOWN = PublicDocument.of(
  { is_shown: false, listings: [], providers: [] },
  PUBLISHED_KEPT_SECONDS,
);

/** The published figures of public listings. Their sums are read at most once in ten minutes. */
function openPublishedFigures({ listingFigures, config, catalog, clock }: ConsoleDeps) {
  const documents = new ExpiringCache<PublicDocument>(KEPT_MS, KEPT_ANSWERS_MAX);
  const readDays = () => listingFigures.published(lastDays(clock.nowMs()).fromMs);
  const published = new CachedRead(readDays, clock, PUBLISHED_KEPT_MS);
  return async (query: ListingQuery): Promise<PublicDocument> => {
    if (!config.listingsPublicFigures) return NOT_SHOWN;
    const { model, provider } = query;
    const key = JSON.stringify([model, provider]);
    const nowMs = clock.monotonicMs();
    const known = documents.get(key, nowMs);
    if (known !== undefined) return known;
    const listed = new Set(
      catalog.current.models.flatMap(({ deployments }) => deployments.map(toListingKey)),
    );
    const days = (await published.get()).filter(
      (each) =>
        listed.has(toListingKey(each)) &&
        (model === undefined || each.modelId === model) &&
        (provider === undefined || each.providerId === provider),
    );
    const as = { hours: [], hasHistory: hasHistory(query), isRounded: true };
    const listings = presentListings(days, as);
    const providers = presentProviders(days, as);
    const made = PublicDocument.of({ is_shown: true, listings, providers }, PUBLISHED_KEPT_SECONDS);
    documents.set(key, made, nowMs);
    return made;
  };
}

function hasHistory({ model, provider }: ListingQuery): boolean {
  return model !== undefined || provider !== undefined;
}

type Figures = Omit<FiguresAt, "at">;

export function presentListings(
  days: readonly ListingSums[],
  of: {
    readonly hours: readonly ListingSums[];
    readonly hasHistory: boolean;
    /** True for figures of many organizations: without counts, and too coarse to show one call. */
    readonly isRounded: boolean;
  },
): ListingFigures[] {
  const shown = of.isRounded ? computeRounded : computeExact;
  const at = (sums: readonly ListingSums[]): FiguresAt[] =>
    of.hasHistory ? sums.map((each) => ({ at: instant(each.fromMs), ...shown([each]) })) : [];
  const hoursByListing = groupSums(of.hours, toListingKey);
  const allCalls = countCalls(days);
  return [...groupSums(days, toListingKey)].map(([key, ofListing]) => {
    const [{ providerId, modelId }] = ofListing as readonly [ListingSums];
    const calls = countCalls(ofListing);
    return {
      provider: providerId,
      model: modelId,
      calls: of.isRounded ? null : calls,
      share_of_calls: presentShare(calls / allCalls, of.isRounded),
      ...shown(ofListing),
      days: at(ofListing),
      hours: at(hoursByListing.get(key) ?? []),
    };
  });
}

function countCalls(sums: readonly ListingSums[]): number {
  return sums.reduce((calls, { succeeded, failed }) => calls + succeeded + failed, 0);
}

function presentShare(share: number, isRounded: boolean): number {
  return isRounded ? (floorToPercent(share) ?? 0) : share;
}

function presentProviders(
  days: readonly ListingSums[],
  { isRounded }: { readonly isRounded: boolean },
): ProviderFigures[] {
  const allCalls = countCalls(days);
  return [...groupSums(days, ({ providerId }) => providerId)].map(([provider, sums]) => ({
    provider,
    share_of_calls: presentShare(countCalls(sums) / allCalls, isRounded),
    ...(isRounded ? computeRounded : computeExact)(sums),
  }));
}

function groupSums(
  sums: readonly ListingSums[],
  groupOf: (each: ListingSums) => string,
): ReadonlyMap<string, readonly ListingSums[]> {
  const called = sums.filter(({ succeeded, failed }) => succeeded + failed !== 0);
  return groupBy(called, groupOf);
}

function toListingKey(of: Pick<ListingSums, "modelId" | "providerId">): string {
  return `${of.modelId} ${of.providerId}`;
}

function computeExact(sums: readonly ListingSums[]): Figures {
  const figures = computeFigures(sums);
  return {
    success: figures.success,
    uptime: figures.uptime,
    ttft_p50_ms: figures.firstTokenP50Ms,
    ttft_p95_ms: figures.firstTokenP95Ms,
    tokens_per_second: roundToDigits(figures.tokensPerSecond, 3),
  };
}

function computeRounded(sums: readonly ListingSums[]): Figures {
  const { success, uptime, ...others } = computeExact(sums);
  return {
    success: floorToPercent(success),
    uptime: floorToPercent(uptime),
    ttft_p50_ms: roundToDigits(others.ttft_p50_ms, 2),
    ttft_p95_ms: roundToDigits(others.ttft_p95_ms, 2),
    tokens_per_second: roundToDigits(others.tokens_per_second, 2),
  };
}

/** Rounds down, so that 199 of 200 calls are not shown as 100 percent. */
export function floorToPercent(share: number | null): number | null {
  return share === null ? null : Math.floor(share * 100) / 100;
}

export function roundToDigits(figure: number | null, digits: number): number | null {
  return figure === null ? null : Number(figure.toPrecision(digits));
}
