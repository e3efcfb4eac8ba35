import { type Catalog, type ListedModel, validateManifest } from "../../catalog/index.ts";
import { listPieces, memoizeByObject } from "../../kernel/index.ts";
import type { Substitution } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { rateLimited } from "./console-refusal.ts";
import type { catalogRoutes } from "./contract/catalog.ts";
import type { Handlers } from "./handler.ts";
import { CachedRead } from "./cached-read.ts";
import { MinuteBound } from "./minute-bound.ts";
import { PublicDocument } from "./public-document.ts";
import { presentModel, presentProvider } from "./present-model.ts";

/** Routes of the public catalog, which has only listings that are public and ready. */
export function catalogHandlers(deps: ConsoleDeps): Handlers<keyof typeof catalogRoutes> {
  const { catalog } = deps;
  const facts = openProviderFacts(deps);
  const checks = new MinuteBound(CHECKS_PER_MINUTE_MAX);
  const ids = memoizeDocument(({ id }) => id);
  const listings = memoizeDocument(presentModel);
  return {
    "GET /api/models.json": () => ids(catalog.current),

    "GET /api/catalog.json": () => listings(catalog.current),

    "POST /api/manifest-check": async ({ body, network }) => {
      if (!checks.mayRun(network, deps.clock.monotonicMs())) return TOO_MANY_CHECKS;
      const verdict = validateManifest(body.manifest);
      if (verdict.ok) return { listings: verdict.manifest.models.length, problems: [], found: 0 };
      const problems = verdict.problems
        .slice(0, PROBLEMS_SHOWN_MAX)
        .map(({ pointer, rule, message }) => ({ pointer, rule, message }));
      return { listings: null, problems, found: verdict.problems.length };
    },

    "GET /api/providers.json": async () => {
      const [activity, substitutions] = await Promise.all([
        facts.activity(),
        facts.substitutions(),
      ]);
      const nowMs = deps.clock.monotonicMs();
      const providers = catalog.current.providers.map((provider) =>
        presentProvider(provider, {
          activity: activity.find(({ providerId }) => providerId === provider.id),
          substitutions: substitutions.filter(({ providerId }) => providerId === provider.id),
          mayTry: (id) => deps.health.mayTry(id, nowMs),
        }),
      );
      return PublicDocument.of({ providers }, HEALTH_KEPT_SECONDS);
    },
  };
}

const PROBLEMS_SHOWN_MAX = 50;
/** The limit of all networks together is low, since a check takes processor time from calls. */
const CHECKS_PER_MINUTE_MAX = { ofNetwork: 20, ofAll: 300 };
const TOO_MANY_CHECKS = rateLimited(
  "too many manifests were checked in this minute; try again, or use `tokenmarket manifest check`",
  60,
);

const LIST_KEPT_SECONDS = 60;
const HEALTH_KEPT_SECONDS = 10;

/** Builds a document once per catalog, because anyone may request it at any rate. */
function memoizeDocument(
  shown: (model: ListedModel) => object | string,
): (of: Catalog) => Promise<PublicDocument> {
  const frame = { before: '{"models":[', after: "]}" };
  return memoizeByObject(async ({ models }: Catalog) => {
    const pieces = await listPieces(models, (model) => JSON.stringify(shown(model)), frame);
    return await PublicDocument.inTurns(pieces, LIST_KEPT_SECONDS);
  });
}

/** Figures are cached this long, so that two answers in a row reveal no single call or its time. */
const FACTS_KEPT_MS = 3_600_000;

/** Figures of providers over all customers; empty if they cannot be read. */
function openProviderFacts({ reports, clock, log, config }: ConsoleDeps) {
  const activity = new CachedRead(() => reports.providerActivity(), clock, FACTS_KEPT_MS);
  const substitutions = new CachedRead(() => reports.substitutions(), clock, FACTS_KEPT_MS);
  const orNone = <T>(read: Promise<readonly T[]>): Promise<readonly T[]> =>
    read.catch((fault: unknown) => {
      log.warn({ err: fault }, "recent provider statistics could not be read");
      return [];
    });
  return {
    /** The activity of widely used providers; empty unless the operator publishes figures. */
    activity: async () => (config.listingsPublicFigures ? await orNone(activity.get()) : []),
    /** The substitutions of all providers; `share` is null unless figures are published. */
    substitutions: async (): Promise<readonly Substitution[]> => {
      const found = await orNone(substitutions.get());
      return config.listingsPublicFigures ? found : found.map((each) => ({ ...each, share: null }));
    },
  };
}
