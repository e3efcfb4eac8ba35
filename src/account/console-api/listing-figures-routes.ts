import { defined, ExpiringCache, instant } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { FiguresAt, ListingFigures, ProviderFigures } from "./contract.ts";
import type { listingFigureRoutes, ListingQuery } from "./contract/listing-figures.ts";
import { type ListingSums, computeFigures } from "../../gateway/index.ts";
import type { Handlers } from "./handler.ts";
import { KeptRead } from "./kept-read.ts";
import { PublicDocument } from "./public-document.ts";
import type { ReportGates } from "./report-gates.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 30;
const HOURS = 48;
/** Sums are made once an hour. */
const KEPT_MS = 60_000;
const KEPT_ANSWERS_MAX = 500;
/** A day is added once a day. */
const PUBLISHED_KEPT_MS = 600_000;
const PUBLISHED_KEPT_SECONDS = 300;

interface OwnFigures {
  readonly from: string;
  readonly listings: ListingFigures[];
  readonly providers: ProviderFigures[];
}

/**
 * Figures of listings: of the organization's own calls, and of all customers if the operator
 * publishes them.
 */
export function listingFigureHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof listingFigureRoutes> {
  const { listingFigures, clock } = deps;
  const kept = new ExpiringCache<OwnFigures>(KEPT_MS, KEPT_ANSWERS_MAX);
  const published = new PublishedFigures(deps);
  return {
    "GET /api/console/listing-figures": async ({ session, query }) => {
      const { orgId } = session;
      const { model, provider } = query;
      const key = JSON.stringify([orgId, model, provider]);
      const known = kept.get(key, clock.monotonicMs());
      if (known !== undefined) return known;
      const nowMs = clock.nowMs();
      const dayMs = firstDayMs(nowMs);
      const from = { dayMs, hourMs: nowMs - HOURS * HOUR_MS };
      const filter = defined({ orgId, modelId: model, providerId: provider });
      return await gates.reads.run(orgId, async () => {
        const { days, hours } = await listingFigures.own(filter, from);
        const as = { hours, hasHistory: hasHistory(query), isRounded: false };
        const listings = presentListings(days, as);
        const answer = { from: instant(dayMs), listings, providers: shownProviders(days, as) };
        kept.set(key, answer, clock.monotonicMs());
        return answer;
      });
    },

    "GET /api/listing-figures.json": ({ query }) => published.read(query),
  };
}

const NOT_SHOWN = PublicDocument.of(
  { is_shown: false, listings: [], providers: [] },
  PUBLISHED_KEPT_SECONDS,
);

/** Read seldom, however many ask; of listings that are for sale now, and for all to see. */
class PublishedFigures {
  readonly #deps: ConsoleDeps;
  readonly #documents = new ExpiringCache<PublicDocument>(KEPT_MS, KEPT_ANSWERS_MAX);
  readonly #days: KeptRead<readonly ListingSums[]>;

  constructor(deps: ConsoleDeps) {
    const { listingFigures, clock } = deps;
    this.#deps = deps;
    this.#days = new KeptRead(
      () => listingFigures.published(firstDayMs(clock.nowMs())),
      clock,
      PUBLISHED_KEPT_MS,
    );
  }

  async read(query: ListingQuery): Promise<PublicDocument> {
    const { config, catalog, clock } = this.#deps;
    if (!config.listingsPublicFigures) return NOT_SHOWN;
    const { model, provider } = query;
    const key = JSON.stringify([model, provider]);
    const nowMs = clock.monotonicMs();
    const known = this.#documents.get(key, nowMs);
    if (known !== undefined) return known;
    const listed = new Set(
      catalog.current.models.flatMap(({ deployments }) =>
        deployments.map(({ providerId, modelId }) => `${providerId} ${modelId}`),
      ),
    );
    const days = (await this.#days.get()).filter(
      ({ providerId, modelId }) =>
        listed.has(`${providerId} ${modelId}`) &&
        (model === undefined || modelId === model) &&
        (provider === undefined || providerId === provider),
    );
    const as = { hours: [], hasHistory: hasHistory(query), isRounded: true };
    const listings = presentListings(days, as);
    const providers = shownProviders(days, as);
    const made = PublicDocument.of({ is_shown: true, listings, providers }, PUBLISHED_KEPT_SECONDS);
    this.#documents.set(key, made, nowMs);
    return made;
  }
}

/** Whole days in UTC: today is the last one. */
function firstDayMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1 - DAYS) * DAY_MS;
}

function hasHistory({ model, provider }: ListingQuery): boolean {
  return model !== undefined || provider !== undefined;
}

type Figures = Omit<FiguresAt, "at">;

/** The figures of listings from what was summed up of them, by model and provider. */
function presentListings(
  days: readonly ListingSums[],
  of: {
    readonly hours: readonly ListingSums[];
    readonly hasHistory: boolean;
    /** Figures of many organizations have no counts, and are so coarse that one call does not show. */
    readonly isRounded: boolean;
  },
): ListingFigures[] {
  const shown = of.isRounded ? rounded : exact;
  const at = (sums: readonly ListingSums[]): FiguresAt[] =>
    of.hasHistory ? sums.map((each) => ({ at: instant(each.fromMs), ...shown([each]) })) : [];
  const hoursOf = grouped(of.hours, toListingKey);
  return [...grouped(days, toListingKey)].map(([key, ofListing]) => {
    const [{ providerId, modelId }] = ofListing as readonly [ListingSums];
    return {
      provider: providerId,
      model: modelId,
      calls: of.isRounded ? null : computeFigures(ofListing).calls,
      share_of_calls: shareOfCalls(ofListing, days, of.isRounded),
      ...shown(ofListing),
      days: at(ofListing),
      hours: at(hoursOf.get(key) ?? []),
    };
  });
}

/** Coarse in the sums of many organizations: one call does not show. */
function shareOfCalls(
  some: readonly ListingSums[],
  all: readonly ListingSums[],
  isRounded: boolean,
): number {
  const share = computeFigures(some).calls / computeFigures(all).calls;
  return isRounded ? (wholePercent(share) ?? 0) : share;
}

function shownProviders(
  days: readonly ListingSums[],
  { isRounded }: { readonly isRounded: boolean },
): ProviderFigures[] {
  return [...grouped(days, ({ providerId }) => providerId)].map(([provider, sums]) => ({
    provider,
    share_of_calls: shareOfCalls(sums, days, isRounded),
    ...(isRounded ? rounded : exact)(sums),
  }));
}

function grouped(
  sums: readonly ListingSums[],
  groupOf: (each: ListingSums) => string,
): ReadonlyMap<string, readonly ListingSums[]> {
  const groups = new Map<string, ListingSums[]>();
  for (const each of sums) {
    if (each.succeeded + each.failed === 0) continue;
    const key = groupOf(each);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [each]);
    else known.push(each);
  }
  return groups;
}

function toListingKey({ modelId, providerId }: ListingSums): string {
  return `${modelId} ${providerId}`;
}

function exact(sums: readonly ListingSums[]): Figures {
  const figures = computeFigures(sums);
  return {
    success: figures.success,
    uptime: figures.uptime,
    ttft_p50_ms: figures.firstTokenP50Ms,
    ttft_p95_ms: figures.firstTokenP95Ms,
    tokens_per_second: withDigits(figures.tokensPerSecond, 3),
  };
}

function rounded(sums: readonly ListingSums[]): Figures {
  const { success, uptime, ...others } = exact(sums);
  return {
    success: wholePercent(success),
    uptime: wholePercent(uptime),
    ttft_p50_ms: withDigits(others.ttft_p50_ms, 2),
    ttft_p95_ms: withDigits(others.ttft_p95_ms, 2),
    tokens_per_second: withDigits(others.tokens_per_second, 2),
  };
}

/** Downwards: 199 of 200 calls are not all of them. */
export function wholePercent(share: number | null): number | null {
  return share === null ? null : Math.floor(share * 100) / 100;
}

export function withDigits(figure: number | null, digits: number): number | null {
  return figure === null ? null : Number(figure.toPrecision(digits));
}
