import { instant } from "../../kernel/index.ts";
import {
  comingPrices,
  type Deployment,
  describeModel,
  type ListedModel,
  type ModalityId,
  type PriceSheet,
  type ListedProvider,
} from "../../catalog/index.ts";
import { Model, ModelProvider, PriceCardLine, Provider } from "./contract/catalog.ts";
import { present } from "./present.ts";
import { presentPrices } from "./present-request.ts";
import type { ProviderActivity, Substitution, DeploymentHealth } from "../../gateway/index.ts";
import { floorToPercent, roundToDigits } from "./listing-figures-routes.ts";

export function presentModel(model: ListedModel): Model {
  return present(Model, model, {
    name: model.displayName,
    description: describeModel(model),
    route: ROUTE_OF[model.modality],
    parameters: Object.fromEntries(model.supportedParameters),
    providers: model.deployments.map(presentListing),
  });
}

const ROUTE_OF: Readonly<Record<ModalityId, string>> = {
  text: "/v1/chat/completions",
  image: "/v1/images/generations",
  video: "/v1/videos",
  decisions: "/v1/decisions",
};

function presentListing(deployment: Deployment): ModelProvider {
  return present(ModelProvider, deployment, {
    name: deployment.providerName,
    prices: deployment.prices === null ? null : presentPrices(deployment.prices),
    defaulted: [...(deployment.defaultedSkus ?? [])],
    price_tiers: presentTiers(deployment.prices),
    price_changes: comingPrices(deployment).map(({ fromMs, prices }) => ({
      from: instant(fromMs),
      prices: presentPrices(prices),
      price_tiers: presentTiers(prices),
    })),
    checked: presentCheck(deployment.checked),
    price_card: deployment.priceCard.map((line) =>
      present(PriceCardLine, line, { cost_usd: line.costUsd }),
    ),
    parameters: Object.fromEntries(deployment.supportedParameters),
  });
}

export function presentTiers(prices: PriceSheet | null): ModelProvider["price_tiers"] {
  return (prices?.tiers ?? []).map((tier) => ({
    above_prompt_tokens: tier.abovePromptTokens,
    prices: presentPrices(tier.prices),
  }));
}

function presentCheck(checked: Deployment["checked"]): ModelProvider["checked"] {
  if (checked === undefined) return null;
  const { on, by, url = null, age } = checked;
  return { on, by, url, age };
}

export function presentProvider(
  provider: ListedProvider,
  seen: {
    /** Undefined if the operator publishes no figures, or if too few organizations made calls. */
    readonly activity: ProviderActivity | undefined;
    readonly substitutions: readonly Substitution[];
    readonly mayTry: (deploymentId: string) => ReturnType<DeploymentHealth["mayTry"]>;
  },
): Provider {
  const { deployments } = provider;
  const { activity } = seen;
  return present(Provider, provider, {
    datacenters: [...new Set(deployments.flatMap((each) => each.datacenters))].sort(),
    models: deployments.map(({ modelId }) => modelId),
    status: judgeStatus(deployments.map(({ id }) => seen.mayTry(id))),
    success_24h:
      activity === undefined ? null : floorToPercent(activity.succeeded / activity.attempts),
    ttft_p50_ms: roundToDigits(activity?.firstByteP50Ms ?? null, 2),
    // A substitution is always shown, however few customers saw it; its share may be null.
    substitutions: seen.substitutions
      .filter((each) => deployments.some(({ modelId }) => modelId === each.modelId))
      .map(({ modelId, servedModel, share }) => ({
        model: modelId,
        served_model: servedModel,
        share_24h: floorToPercent(share),
      })),
  });
}

/** `open`: none of the provider's listings may be tried now; `healthy`: all may; else `cooling`. */
function judgeStatus(
  verdicts: readonly ReturnType<DeploymentHealth["mayTry"]>[],
): Provider["status"] {
  if (verdicts.every((verdict) => verdict === "no")) return "open";
  return verdicts.every((verdict) => verdict === "yes") ? "healthy" : "cooling";
}
