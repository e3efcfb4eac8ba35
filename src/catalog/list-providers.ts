import type { Deployment, ListedProvider } from "./catalog.ts";
import type { Manifest } from "./manifest/index.ts";

/** Providers of routed listings by name: what their manifests say of them. */
export function listProviders(
  routed: readonly { readonly manifest: Manifest; readonly deployment: Deployment }[],
): readonly ListedProvider[] {
  const byId = new Map<string, { manifest: Manifest; deployments: Deployment[] }>();
  for (const { manifest, deployment } of routed) {
    const known = byId.get(deployment.providerId);
    if (known === undefined)
      byId.set(deployment.providerId, { manifest, deployments: [deployment] });
    else known.deployments.push(deployment);
  }
  return [...byId.values()].flatMap(listed).sort(byNameThenId);
}

function listed(of: { manifest: Manifest; deployments: Deployment[] }): ListedProvider[] {
  const [first] = of.deployments;
  if (first === undefined) return [];
  const { provider } = of.manifest;
  const { terms_of_service_url: terms, status_page_url: statusPage } = provider;
  return [
    {
      id: first.providerId,
      name: provider.name,
      privacyPolicyUrl: provider.privacy_policy_url,
      ...(terms !== undefined && { termsOfServiceUrl: terms }),
      ...(statusPage !== undefined && { statusPageUrl: statusPage }),
      promptLogging: provider.prompt_logging,
      deployments: of.deployments,
    },
  ];
}

function byNameThenId(a: ListedProvider, b: ListedProvider): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
