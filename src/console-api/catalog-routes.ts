import type { Catalog, ListedModel } from "../catalog/index.ts";
import { listPieces } from "../core/index.ts";
import type { ProviderActivity, Substitution } from "../records/index.ts";
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
  const ids = keptDocument(({ id }) => id);
  const listings = keptDocument(shownModel);
  return {
    "GET /api/models.json": () => ids(catalog.current),

    "GET /api/catalog.json": () => listings(catalog.current),

    "GET /api/providers.json": async () => {
      const known = await activity.read();
      const nowMs = deps.clock.monotonicMs();
      const providers = catalog.current.providers.map((provider) =>
        shownProvider(provider, {
          activity: known.activity.get(provider.id),
          substitutions: known.substitutions.filter(({ providerId }) => providerId === provider.id),
          mayTry: (id) => deps.health.mayTry(id, nowMs),
        }),
      );
      return PublicDocument.of({ providers }, HEALTH_KEPT_SECONDS);
    },
  };
}

const LIST_KEPT_SECONDS = 60;
const HEALTH_KEPT_SECONDS = 10;

/** Makes a document once for each catalog: anybody may ask for it, as often as they like. */
function keptDocument(
  shown: (model: ListedModel) => object | string,
): (of: Catalog) => Promise<PublicDocument> {
  const kept = new WeakMap<Catalog, Promise<PublicDocument>>();
  return (catalog) => {
    const known = kept.get(catalog);
    if (known !== undefined) return known;
    const made = documentOf(catalog.models, shown);
    kept.set(catalog, made);
    return made;
  };
}

async function documentOf(
  models: readonly ListedModel[],
  shown: (model: ListedModel) => object | string,
): Promise<PublicDocument> {
  const frame = { before: '{"models":[', after: "]}" };
  const pieces = await listPieces(models, (model) => JSON.stringify(shown(model)), frame);
  return PublicDocument.inTurns(pieces, LIST_KEPT_SECONDS);
}

interface Activity {
  readonly activity: ReadonlyMap<string, ProviderActivity>;
  readonly substitutions: readonly Substitution[];
}

const KEPT_MS = 60_000;
const NOTHING: Activity = { activity: new Map(), substitutions: [] };

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
      this.#read = this.#load();
    }
    return this.#read;
  }

  async #load(): Promise<Activity> {
    try {
      const { reports } = this.#deps;
      const rows = await reports.providerActivity();
      const substitutions = await reports.substitutions();
      return { activity: new Map(rows.map((row) => [row.providerId, row])), substitutions };
    } catch (fault) {
      this.#deps.log.warn({ err: fault }, "recent provider statistics could not be read");
      return NOTHING;
    }
  }
}
