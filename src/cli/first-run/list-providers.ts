import { existsSync } from "node:fs";

import type { Config } from "../../kernel/index.ts";
import type { ProviderHead } from "../../listing-tools/index.ts";
import { UsageFault } from "../command-context.ts";
import { draftHosted, toManifestPath } from "../manifest-init/hosted-provider.ts";
import { type InitResult, startResult } from "../manifest-init/init-flags.ts";
import { findShipped } from "../manifest-init/named-provider.ts";
import { writeManifest } from "../manifest-init/write-manifest.ts";
import type { ProviderKeys } from "./find-keys.ts";

export interface ListingPlan {
  readonly config: Config;
  readonly keys: ProviderKeys;
  readonly margin: string | undefined;
  /** Base URLs that replace the shipped ones, by provider ID. */
  readonly baseUrls: ReadonlyMap<string, string>;
  /** True if providers are not asked which models they serve. */
  readonly isOffline: boolean;
  readonly isForced: boolean;
}

export interface ListedProvider {
  readonly result: InitResult;
  /** True if the provider's manifest existed before, and was not replaced. */
  readonly wasThere: boolean;
}

/**
 * Writes the providers' manifests, one after another. An existing manifest is kept unless
 * `isForced`; a provider must accept its key unless `isOffline`.
 */
export async function listProviders(
  heads: readonly ProviderHead[],
  plan: ListingPlan,
): Promise<readonly ListedProvider[]> {
  const listed: ListedProvider[] = [];
  for (const head of heads) listed.push(await listProvider(head, plan));
  return listed;
}

async function listProvider(head: ProviderHead, plan: ListingPlan): Promise<ListedProvider> {
  const { config, keys, margin, baseUrls } = plan;
  const file = toManifestPath(config, head.provider.id);
  const { id } = head.provider;
  if (existsSync(file) && !plan.isForced) {
    return { result: startResult(id, { file }), wasThere: true };
  }
  try {
    const shipped = findShipped(head);
    const baseUrl = baseUrls.get(head.provider.id);
    const manifest =
      baseUrl === undefined
        ? shipped
        : { ...shipped, endpoint: { ...shipped.endpoint, base_url: baseUrl } };
    const key = plan.isOffline ? undefined : keys.get(manifest.endpoint.api_key_env ?? "");
    const draft = await draftHosted({ config, head, manifest, key, file, globs: [], margin });
    if (draft.ok) writeManifest(file, draft.text);
    return { result: draft.result, wasThere: false };
  } catch (fault) {
    // A provider that does not answer must not stop the others.
    if (!(fault instanceof UsageFault)) throw fault;
    return { result: startResult(id, { issues: [fault.message] }), wasThere: false };
  }
}
