import { ExpiringCache } from "../core/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { ListingFigures } from "./contract.ts";
import type { listingFigureRoutes } from "./contract/listing-figures.ts";
import type { Handlers } from "./handler.ts";
import { PublicDocument } from "./public-document.ts";
import { instant } from "./read-values.ts";
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
      // Whole days in UTC: today is the last one.
      const dayMs = (Math.floor(nowMs / DAY_MS) + 1 - DAYS) * DAY_MS;
      const from = { dayMs, hourMs: nowMs - HOURS * HOUR_MS };
      const filter = {
        orgId,
        ...(model === undefined ? {} : { modelId: model }),
        ...(provider === undefined ? {} : { providerId: provider }),
      };
      return await gates.reads.run(orgId, async () => {
        const { days, hours } = await listingFigures.own(filter, from);
        const hasHistory = model !== undefined || provider !== undefined;
        const listings = shownListings(days, { hours, hasHistory, isRounded: false });
        const answer = { from: instant(dayMs), listings };
        kept.set(key, answer, clock.monotonicMs());
        return answer;
      });
    },

    "GET /api/listing-figures.json": () => published.read(),
  };
}

/** Read seldom, however many ask; of listings that are for sale now, and for all to see. */
class PublishedFigures {
  readonly #deps: ConsoleDeps;
  #read: Promise<readonly ListingFigures[]> | undefined;
  #readAtMs = 0;

  constructor(deps: ConsoleDeps) {
    this.#deps = deps;
  }

  async read(): Promise<PublicDocument> {
    const { config, catalog, clock } = this.#deps;
    if (!config.listingsPublicFigures) {
      return PublicDocument.of({ is_shown: false, listings: [] }, PUBLISHED_KEPT_SECONDS);
    }
    const nowMs = clock.monotonicMs();
    if (this.#read === undefined || nowMs - this.#readAtMs > PUBLISHED_KEPT_MS) {
      this.#readAtMs = nowMs;
      this.#read = this.#load();
    }
    const listed = new Set(
      catalog.current.models.flatMap(({ deployments }) =>
        deployments.map(({ providerId, modelId }) => `${providerId} ${modelId}`),
      ),
    );
    const listings = (await this.#read).filter(({ provider, model }) =>
      listed.has(`${provider} ${model}`),
    );
    return PublicDocument.of({ is_shown: true, listings }, PUBLISHED_KEPT_SECONDS);
  }

  async #load(): Promise<readonly ListingFigures[]> {
    const { listingFigures, clock, log } = this.#deps;
    try {
      const fromMs = (Math.floor(clock.nowMs() / DAY_MS) + 1 - DAYS) * DAY_MS;
      const days = await listingFigures.published(fromMs);
      return shownListings(days, { hours: [], hasHistory: true, isRounded: true });
    } catch (fault) {
      log.warn({ err: fault }, "figures of listings could not be read");
      this.#read = undefined;
      return [];
    }
  }
}
