import { ExpiringCache, instant } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { ListingFigures } from "./contract.ts";
import type { listingFigureRoutes, ListingQuery } from "./contract/listing-figures.ts";
import type { ListingSums } from "../../gateway/index.ts";
import type { Handlers } from "./handler.ts";
import { KeptRead } from "./kept-read.ts";
import { PublicDocument } from "./public-document.ts";
import type { ReportGates } from "./report-gates.ts";
import { shownListings } from "./show-listing-figures.ts";

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
}

/** How listings served: the organization's own calls, and all together where the operator says so. */
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
      const filter = {
        orgId,
        ...(model === undefined ? {} : { modelId: model }),
        ...(provider === undefined ? {} : { providerId: provider }),
      };
      return await gates.reads.run(orgId, async () => {
        const { days, hours } = await listingFigures.own(filter, from);
        const as = { hours, hasHistory: hasHistory(query), isRounded: false };
        const listings = shownListings(days, as);
        const answer = { from: instant(dayMs), listings };
        kept.set(key, answer, clock.monotonicMs());
        return answer;
      });
    },

    "GET /api/listing-figures.json": ({ query }) => published.read(query),
  };
}

const NOT_SHOWN = PublicDocument.of({ is_shown: false, listings: [] }, PUBLISHED_KEPT_SECONDS);

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
    const listings = shownListings(days, as);
    const made = PublicDocument.of({ is_shown: true, listings }, PUBLISHED_KEPT_SECONDS);
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
