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
import { lastDays } from "./overview.ts";
import type { Handlers } from "./handler.ts";

/** Prices at most this many listings of a model, those that the gateway tries first. */
const LISTINGS_MAX = 20;

export interface Comparison {
  readonly catalog: Catalog;
  /** The ids that the request named, in its order; unlisted ones are included. */
  readonly ids: readonly string[];
  readonly models: readonly ListedModel[];
}

export interface KnownUse {
  readonly groups: UsageReport["groups"];
  readonly sized: readonly SizedTokens[] | undefined;
  readonly bounds: SizeBounds;
}

/** Collects the prompt sizes at which a price of these models changes or a context is full. */
export function collectBounds(models: readonly ListedModel[]): SizeBounds {
  const listings = models.flatMap(pricedListings);
  return {
    promptTokens: sortBounds(listings.flatMap(({ prices }) => (prices ? tierBounds(prices) : []))),
    totalTokens: sortBounds(listings.flatMap(({ contextLength }) => contextLength ?? [])),
  };
}

export function sortBounds(bounds: readonly number[]): readonly number[] {
  return [...new Set(bounds)].sort((a, b) => a - b);
}

export function modelCosts(
  { catalog, ids, models }: Comparison,
  use: KnownUse,
): Omit<ModelCosts, "from" | "to"> {
  const byId = new Map<string, ListedModel>(models.map((model) => [model.id, model]));
  const chat = findChat(catalog, use);
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
    models: ids.map((id) => compareModel(id, byId.get(id), { catalog, chat, bounds: use.bounds })),
  };
}

type NotCounted = ModelCosts["not_counted"][number];

interface Chat {
  /** The chat models that the organization used, the one with the most spend first. */
  readonly used: readonly UsedModel[];
  readonly notCounted: readonly NotCounted[];
  readonly sized: readonly SizedTokens[] | undefined;
}

interface UsedModel {
  readonly model: string;
  readonly requests: number;
  readonly debit: bigint;
  readonly usage: Usage;
}

/**
 * Finds the chat requests. Prompt sizes are known for chat only, so an unlisted model with sizes is
 * a chat model; the modality of any other unlisted model is not known.
 */
function findChat(catalog: Catalog, { groups, sized }: KnownUse): Chat {
  const modalityByModel = new Map<string, string>([
    ...(sized ?? []).map(({ modelId }) => [modelId, "text"] as const),
    ...catalog.deployments.map(({ modelId, modality }) => [modelId, modality] as const),
  ]);
  const findReason = (model: string): NotCounted["reason"] | undefined => {
    if (model === OTHER_GROUPS) return "too_many";
    const modality = modalityByModel.get(model);
    if (modality === undefined) return "unlisted";
    return modality === "text" ? undefined : "modality";
  };
  const withTokens = groups.filter(hasTokens);
  const notCounted = withTokens.flatMap(({ group, figures: { requests } }): NotCounted[] => {
    const reason = findReason(group);
    return reason === undefined ? [] : [{ model: group, requests, reason }];
  });
  if (sized === undefined) {
    const used = withTokens
      .filter(({ group }) => findReason(group) === undefined)
      .map(({ group: model, figures: { requests, debitMicroUsd: debit, usage } }) => {
        return { model, requests, debit, usage };
      });
    return { used, notCounted, sized };
  }
  const counted = sized.filter(({ isOwnKey }) => !isOwnKey);
  const ofOwnKeys = sumByModel(sized.filter(({ isOwnKey }) => isOwnKey));
  return {
    used: sumByModel(counted).toSorted(compareSpend),
    notCounted: [
      ...notCounted.filter(({ model }) => model !== OTHER_GROUPS),
      ...ofOwnKeys.map(({ model, requests }) => ({ model, requests, reason: "own_key" as const })),
    ],
    sized: counted,
  };
}

function sumByModel(sized: readonly SizedTokens[]): readonly UsedModel[] {
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

function compareSpend(a: UsedModel, b: UsedModel): number {
  if (a.debit !== b.debit) return a.debit > b.debit ? -1 : 1;
  return b.requests - a.requests;
}

/** The last group of a report, which sums up all groups that are not listed. */
const OTHER_GROUPS = "other";

function hasTokens({ figures }: { readonly figures: ReportFigures }): boolean {
  const { usage, debitMicroUsd } = figures;
  return promptTokensTotal(usage) + outputTokensTotal(usage) > 0 || debitMicroUsd > 0n;
}

interface Compared {
  readonly catalog: Catalog;
  readonly chat: Chat;
  readonly bounds: SizeBounds;
}

function compareModel(
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
    listings: pricedListings(model).map((each) => computeListingCost(each, compared)),
    may_lack: findLacks(model, compared),
  };
}

function pricedListings({ deployments }: ListedModel): readonly Deployment[] {
  return deployments.slice(0, LISTINGS_MAX);
}

function computeListingCost(listing: Deployment, { chat, bounds }: Compared): ListingCost {
  const { prices, contextLength } = listing;
  const shown = { provider: listing.providerId, name: listing.providerName };
  const tooLong =
    contextLength === undefined ? 0 : countAttemptsAbove(chat.sized, bounds, contextLength);
  if (prices === null || listing.billing !== "token") {
    return { ...shown, cost_usd: null, is_at_least: false, too_long: tooLong };
  }
  const usage = sumUsage(chat.used.map((each) => each.usage));
  const cost =
    chat.sized === undefined
      ? leastCostElsewhere(prices, usage)
      : costElsewhere(
          prices,
          chat.sized.map((each) => toSizedUse(each, bounds.promptTokens)),
        );
  return {
    ...shown,
    cost_usd: formatUsd(cost),
    is_at_least: chat.sized === undefined && dependsOnRequest(prices, usage),
    too_long: tooLong,
  };
}

export function toSizedUse({ promptAbove, usage }: SizedTokens, bounds: readonly number[]) {
  return { abovePromptTokens: bounds[promptAbove - 1] ?? 0, usage };
}

/** Counts the attempts with more tokens than the context holds; null if sizes are not known. */
function countAttemptsAbove(
  sized: readonly SizedTokens[] | undefined,
  { totalTokens }: SizeBounds,
  contextLength: number,
): number | null {
  if (sized === undefined) return null;
  const place = totalTokens.indexOf(contextLength) + 1;
  return sized.reduce((sum, each) => sum + (each.totalAbove >= place ? each.attempts : 0), 0);
}

function findLacks(model: ListedModel, { catalog, chat }: Compared): ComparedModel["may_lack"] {
  return chat.used.flatMap(({ model: used, requests }) => {
    const kinds = catalog.find(used)?.inputModalities ?? [];
    const parts = kinds.filter((kind) => !model.inputModalities.includes(kind));
    return parts.length === 0 ? [] : [{ model: used, parts, requests }];
  });
}

const MODELS_MAX = 4;

export function modelCostHandlers(deps: ConsoleDeps): Handlers<"GET /api/console/model-costs"> {
  const { catalog, reports, clock } = deps;
  return {
    "GET /api/console/model-costs": async ({ session, query }) => {
      const ids = readIds(query.models);
      if (ids instanceof ConsoleRefusal) return ids;
      const { orgId } = session;
      const { current } = catalog;
      const range = { orgId, ...lastDays(clock.nowMs()) };
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
