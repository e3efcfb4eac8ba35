import type { Deployment, ListedProvider } from "../../catalog/index.ts";
import type { ProviderActivity, Substitution, DeploymentHealth } from "../../gateway/index.ts";
import type { Provider } from "./contract.ts";
import { wholePercent, withDigits } from "./show-listing-figures.ts";

/** A provider for buyers, with its health as this instance sees it now. */
export function shownProvider(
  provider: ListedProvider,
  seen: {
    /** Undefined: not shown, or of too few organizations. */
    readonly activity: ProviderActivity | undefined;
    /** Of this provider. */
    readonly substitutions: readonly Substitution[];
    readonly mayTry: (deploymentId: string) => ReturnType<DeploymentHealth["mayTry"]>;
  },
): Provider {
  const { deployments } = provider;
  const { activity } = seen;
  return {
    id: provider.id,
    name: provider.name,
    privacy_policy_url: provider.privacyPolicyUrl,
    terms_of_service_url: provider.termsOfServiceUrl ?? null,
    status_page_url: provider.statusPageUrl ?? null,
    prompt_logging: provider.promptLogging,
    datacenters: [...new Set(deployments.flatMap((each) => each.datacenters))].sort(),
    models: deployments.map(({ modelId }) => modelId),
    status: statusOf(deployments.map(({ id }) => seen.mayTry(id))),
    success_24h:
      activity === undefined ? null : wholePercent(activity.succeeded / activity.attempts),
    ttft_p50_ms: withDigits(activity?.firstByteP50Ms ?? null, 2),
    substitutions: shownSubstitutions(deployments, seen.substitutions),
  };
}

/** That a buyer was sold another model is never hidden, however few saw it; how often may be. */
function shownSubstitutions(
  listed: readonly Deployment[],
  substitutions: readonly Substitution[],
): Provider["substitutions"] {
  return substitutions
    .filter((each) => listed.some(({ modelId }) => modelId === each.modelId))
    .map(({ modelId, servedModel, share }) => ({
      model: modelId,
      served_model: servedModel,
      share_24h: wholePercent(share),
    }));
}

/** `open`: none of its listings may be tried now; `cooling`: not all of them. */
function statusOf(verdicts: readonly ReturnType<DeploymentHealth["mayTry"]>[]): Provider["status"] {
  if (verdicts.every((verdict) => verdict === "no")) return "open";
  return verdicts.every((verdict) => verdict === "yes") ? "healthy" : "cooling";
}
