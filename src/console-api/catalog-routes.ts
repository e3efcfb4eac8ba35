import type { ProviderActivity } from "../ledger/usage-reports.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { catalogRoutes } from "./contract/catalog.ts";
import type { Handlers } from "./handler.ts";
import { PublicDocument } from "./public-document.ts";
import { shownModel } from "./show-model.ts";
import { shownProvider } from "./show-provider.ts";

/** What is for sale, for anybody: public and ready listings only. */
export function catalogHandlers(deps: ConsoleDeps): Handlers<keyof typeof catalogRoutes> {
  const { catalog } = deps;
  const activity = new ActivityCache(deps);
  return {
    "GET /api/models.json": async () =>
      new PublicDocument({ models: catalog.current.models.map(({ id }) => id) }, LIST_KEPT_SECONDS),

    "GET /api/catalog.json": async () =>
      new PublicDocument({ models: catalog.current.models.map(shownModel) }, LIST_KEPT_SECONDS),

    "GET /api/providers.json": async () => {
      const known = await activity.read();
      const nowMs = deps.clock.monotonicMs();
      const providers = catalog.current.providers.map((provider) =>
        shownProvider(provider, {
          activity: known.get(provider.id),
          mayTry: (id) => deps.health.mayTry(id, nowMs),
        }),
      );
      return new PublicDocument({ providers }, HEALTH_KEPT_SECONDS);
    },
  };
}

const LIST_KEPT_SECONDS = 60;
const HEALTH_KEPT_SECONDS = 10;

type Activity = ReadonlyMap<string, ProviderActivity>;

const KEPT_MS = 60_000;
const NOTHING: Activity = new Map();

/**
 * What all customers together saw of providers: read once a minute at most, however many ask, and
 * without it the page shows the rest.
 */
class ActivityCache {
  readonly #deps: Pick<ConsoleDeps, "reports" | "clock" | "log">;
  #read: Promise<Activity> | undefined;
  #readAtMs = 0;

  constructor(deps: Pick<ConsoleDeps, "reports" | "clock" | "log">) {
    this.#deps = deps;
  }

  read(): Promise<Activity> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#read === undefined || nowMs - this.#readAtMs > KEPT_MS) {
      this.#readAtMs = nowMs;
      this.#read = this.#look();
    }
    return this.#read;
  }

  async #look(): Promise<Activity> {
    try {
      const rows = await this.#deps.reports.providerActivity();
      return new Map(rows.map((row) => [row.providerId, row]));
    } catch (fault) {
      this.#deps.log.warn({ err: fault }, "what providers did lately could not be read");
      return NOTHING;
    }
  }
}
