import {
  type Catalog,
  type Deployment,
  type ListedModel,
  costElsewhere,
  dependsOnRequest,
  leastCostElsewhere,
  tierBounds,
} from "../../catalog/index.ts";
import {
  formatUsd,
  microUsd,
  outputTokensTotal,
  promptTokensTotal,
  sumUsage,
  type Usage,
  ZERO_USAGE,
  showTokens,
  instant,
} from "../../kernel/index.ts";
import type { ReportFigures, SizeBounds, SizedTokens, UsageReport } from "../../gateway/index.ts";
import type { ComparedModel, ListingCost, ModelCosts } from "./contract.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { modelCostRoutes } from "./contract/model-costs.ts";
import type { Handlers } from "./handler.ts";

/** Listings of one model that are priced; the others would be tried after all of these. */
const LISTINGS_MAX = 20;

/** The models and the traffic to compare. */
export interface Comparison {
  readonly catalog: Catalog;
  /** The ids of the models that the request named, in its order. */
  readonly ids: readonly string[];
  /** The listed ones of these models, at the prices that count. */
  readonly models: readonly ListedModel[];
}

/** The usage by model, with the known sizes of prompts. */
export interface KnownUse {
  readonly groups: UsageReport["groups"];
  /** Undefined if there are too many attempts to know. */
  readonly sized: readonly SizedTokens[] | undefined;
  readonly bounds: SizeBounds;
}

/** The sizes of prompts that decide about the price or the fit of any of these models. */
export function collectBounds(models: readonly ListedModel[]): SizeBounds {
  const listings = models.flatMap(pricedListings);
  return {
    promptTokens: ascending(listings.flatMap(({ prices }) => (prices ? tierBounds(prices) : []))),
    totalTokens: ascending(listings.flatMap(({ contextLength }) => contextLength ?? [])),
  };
}

function ascending(bounds: readonly number[]): readonly number[] {
  return [...new Set(bounds)].sort((a, b) => a - b);
}

/** The comparison, but for its range of time. */
export function modelCosts(
  { catalog, ids, models }: Comparison,
  use: KnownUse,
): Omit<ModelCosts, "from" | "to"> {
  const byId = new Map<string, ListedModel>(models.map((model) => [model.id, model]));
  const chat = use.sized === undefined ? chatOfSums(catalog, use) : chatBySize(catalog, use);
  return {
    is_by_request: use.sized !== undefined,
    traffic: {
      requests: chat.used.reduce((sum, { requests }) => sum + requests, 0),
      spent_usd: formatUsd(microUsd(chat.used.reduce((sum, { debit }) => sum + debit, 0n))),
      tokens: showTokens(sumUsage(chat.used.map(({ usage }) => usage))),
      models: chat.used.map(({ model, requests, debit }) => ({
        model,
        requests,
        spent_usd: formatUsd(microUsd(debit)),
      })),
    },
    not_counted: [...chat.notCounted],
    models: ids.map((id) => comparedModel(id, byId.get(id), { catalog, chat, bounds: use.bounds })),
  };
}

type NotCounted = ModelCosts["not_counted"][number];

/** The part of the use that is chat. */
interface Chat {
  /** Most spend first. */
  readonly used: readonly UsedModel[];
  readonly notCounted: readonly NotCounted[];
  /** Undefined if the sizes are not known. */
  readonly sized: readonly SizedTokens[] | undefined;
}

interface UsedModel {
  readonly model: string;
  readonly requests: number;
  readonly debit: bigint;
  readonly usage: Usage;
}

/** From attempts one by one: none of them is of media, whatever the catalog knows of the model. */
function chatBySize(catalog: Catalog, { groups, sized = [] }: KnownUse): Chat {
  const modalityOf = modalities(catalog);
  const seen = new Set(sized.map(({ modelId }) => modelId));
  const counted = sized.filter(({ isOwnKey }) => !isOwnKey);
  const ofOwnKeys = sized.filter(({ isOwnKey }) => isOwnKey);
  return {
    used: usedModels(counted).toSorted(bySpend),
    notCounted: [
      ...groups.filter(hasTokens).flatMap(({ group, figures: { requests } }): NotCounted[] => {
        const modality = modalityOf.get(group) ?? (seen.has(group) ? "text" : undefined);
        if (modality === "text" || group === OTHER_GROUPS) return [];
        return [
          { model: group, requests, reason: modality === undefined ? "unlisted" : "modality" },
        ];
      }),
      ...usedModels(ofOwnKeys).map(({ model, requests }): NotCounted => {
        return { model, requests, reason: "own_key" };
      }),
    ],
    sized: counted,
  };
}

function usedModels(sized: readonly SizedTokens[]): readonly UsedModel[] {
  const used = new Map<string, UsedModel>();
  for (const { modelId: model, attempts, debitMicroUsd, usage } of sized) {
    const known = used.get(model) ?? { model, requests: 0, debit: 0n, usage: ZERO_USAGE };
    used.set(model, {
      model,
      requests: known.requests + attempts,
      debit: known.debit + debitMicroUsd,
      usage: sumUsage([known.usage, usage]),
    });
  }
  return [...used.values()];
}

function bySpend(a: UsedModel, b: UsedModel): number {
  if (a.debit !== b.debit) return a.debit > b.debit ? -1 : 1;
  return b.requests - a.requests;
}

/** From sums of days, which do not say what of a model that is gone was chat. */
function chatOfSums(catalog: Catalog, { groups }: KnownUse): Chat {
  const modalityOf = modalities(catalog);
  const findReason = (model: string): NotCounted["reason"] | undefined => {
    if (model === OTHER_GROUPS) return "too_many";
    const modality = modalityOf.get(model);
    if (modality === undefined) return "unlisted";
    return modality === "text" ? undefined : "modality";
  };
  const withTokens = groups.filter(hasTokens);
  return {
    used: withTokens
      .filter(({ group }) => findReason(group) === undefined)
      .map(({ group, figures }) => ({
        model: group,
        requests: figures.requests,
        debit: figures.debitMicroUsd,
        usage: figures.usage,
      })),
    notCounted: withTokens.flatMap(({ group, figures: { requests } }): NotCounted[] => {
      const reason = findReason(group);
      return reason === undefined ? [] : [{ model: group, requests, reason }];
    }),
    sized: undefined,
  };
}

/** A report has so many groups, and the others under this name. */
const OTHER_GROUPS = "other";

function modalities({ deployments }: Catalog): ReadonlyMap<string, string> {
  return new Map(deployments.map(({ modelId, modality }) => [modelId, modality]));
}

function hasTokens({ figures }: { readonly figures: ReportFigures }): boolean {
  const { usage, debitMicroUsd } = figures;
  return promptTokensTotal(usage) + outputTokensTotal(usage) > 0 || debitMicroUsd > 0n;
}

interface Compared {
  readonly catalog: Catalog;
  readonly chat: Chat;
  readonly bounds: SizeBounds;
}

function comparedModel(
  id: string,
  model: ListedModel | undefined,
  compared: Compared,
): ComparedModel {
  const nothing = { model: id, listings: [], may_lack: [] };
  if (model === undefined) return { ...nothing, name: id, obstacle: "not_listed" };
  if (model.modality !== "text") {
    return { ...nothing, name: model.displayName, obstacle: "modality" };
  }
  return {
    model: id,
    name: model.displayName,
    obstacle: null,
    listings: pricedListings(model).map((each) => listingCost(each, compared)),
    may_lack: findLacks(model, compared),
  };
}

function pricedListings({ deployments }: ListedModel): readonly Deployment[] {
  return deployments.slice(0, LISTINGS_MAX);
}

function listingCost(listing: Deployment, { chat, bounds }: Compared): ListingCost {
  const { prices, contextLength } = listing;
  const shown = { provider: listing.providerId, name: listing.providerName };
  const tooLong =
    contextLength === undefined ? 0 : attemptsAbove(chat.sized, bounds, contextLength);
  if (prices === null || listing.billing !== "token") {
    return { ...shown, cost_usd: null, is_at_least: false, too_long: tooLong };
  }
  const usage = sumUsage(chat.used.map((each) => each.usage));
  const cost =
    chat.sized === undefined
      ? leastCostElsewhere(prices, usage)
      : costElsewhere(
          prices,
          chat.sized.map((each) => ofSize(each, bounds)),
        );
  return {
    ...shown,
    cost_usd: formatUsd(cost),
    is_at_least: chat.sized === undefined && dependsOnRequest(prices, usage),
    too_long: tooLong,
  };
}

function ofSize({ promptAbove, usage }: SizedTokens, { promptTokens }: SizeBounds) {
  return { abovePromptTokens: promptTokens[promptAbove - 1] ?? 0, usage };
}

/** How many attempts have more tokens than a context holds; null: not known. */
function attemptsAbove(
  sized: readonly SizedTokens[] | undefined,
  { totalTokens }: SizeBounds,
  contextLength: number,
): number | null {
  if (sized === undefined) return null;
  const place = totalTokens.indexOf(contextLength) + 1;
  return sized.reduce((sum, each) => sum + (each.totalAbove >= place ? each.attempts : 0), 0);
}

/** The models of the traffic that read what this one does not. */
function findLacks(model: ListedModel, { catalog, chat }: Compared): ComparedModel["may_lack"] {
  return chat.used.flatMap(({ model: used, requests }) => {
    const kinds = catalog.find(used)?.inputModalities ?? [];
    const parts = kinds.filter((kind) => !model.inputModalities.includes(kind));
    return parts.length === 0 ? [] : [{ model: used, parts, requests }];
  });
}

const DAY_MS = 86_400_000;
const DAYS = 30;
const MODELS_MAX = 4;

/** The cost of the organization's own last days with other models. */
export function modelCostHandlers({
  catalog,
  reports,
  clock,
}: ConsoleDeps): Handlers<keyof typeof modelCostRoutes> {
  return {
    "GET /api/console/model-costs": async ({ session, query }) => {
      const ids = readIds(query.models);
      if (ids instanceof ConsoleRefusal) return ids;
      const { orgId } = session;
      const { current } = catalog;
      // Whole UTC days up to today, so that most of them can be read from sums.
      const toMs = (Math.floor(clock.nowMs() / DAY_MS) + 1) * DAY_MS;
      const range = { orgId, fromMs: toMs - DAYS * DAY_MS, toMs };
      const { of } = query;
      const models = ids.flatMap((id) => current.find(id) ?? []);
      const compared = { catalog: current, ids, models };
      const bounds = collectBounds(models);
      const filter = of === undefined ? range : { ...range, modelIds: [of] };
      const { groups } = await reports.report(filter, "model");
      const sizeFilter = of === undefined ? range : { ...range, modelId: of };
      const sized = await reports.tokensBySize(sizeFilter, bounds);
      return {
        from: instant(range.fromMs),
        to: instant(range.toMs),
        ...modelCosts(compared, { groups, sized, bounds }),
      };
    },
  };
}

function readIds(text: string): readonly string[] | ConsoleRefusal {
  const ids = [...new Set(text.split(","))];
  const isRight = ids.length <= MODELS_MAX && ids.every((id) => MODEL_ID.test(id));
  if (isRight) return ids;
  return invalidField(
    "models",
    `models must be 1 to ${MODELS_MAX} ids of models with commas between them`,
  );
}

const MODEL_ID = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}$/;
