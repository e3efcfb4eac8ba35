import { existsSync } from "node:fs";

import { type Config, defined } from "../../kernel/index.ts";
import type { ProviderHead } from "../../listing-tools/index.ts";
import { type CommandContext, UsageFault } from "../command-context.ts";
import { listHosted } from "../manifest-init/hosted-provider.ts";
import { type InitResult, startResult } from "../manifest-init/init-flags.ts";
import { findShipped } from "../manifest-init/named-provider.ts";
import { toManifestPath } from "../manifest-init/write-manifest.ts";
import type { ProviderKeys } from "./find-keys.ts";

export interface ListingPlan {
  readonly io: CommandContext;
  readonly config: Config;
  readonly keys: ProviderKeys;
  readonly margin: string | undefined;
  /** Base URLs that replace the shipped ones, by provider ID. */
  readonly baseUrls: ReadonlyMap<string, string>;
  readonly isOffline: boolean;
  readonly isForced: boolean;
}

export interface ListedProvider {
  readonly result: InitResult;
  /** True if the provider's manifest existed before, and was not replaced. */
  readonly wasThere: boolean;
}

/** Keeps old manifests unless `isForced`; a provider must accept its key unless `isOffline`. */
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
  const { id } = head.provider;
  const file = toManifestPath(config, id);
  if (existsSync(file) && !plan.isForced) {
    return { result: startResult(id, { file }), wasThere: true };
  }
  try {
    const shipped = findShipped(head);
    const ownUrl = defined({ base_url: baseUrls.get(id) });
    const manifest = { ...shipped, endpoint: { ...shipped.endpoint, ...ownUrl } };
    const key = plan.isOffline ? undefined : keys.get(manifest.endpoint.api_key_env ?? "");
    const request = { config, manifest, key, file, globs: [], margin };
    return { result: await listHosted(plan.io, request), wasThere: false };
  } catch (fault) {
    // A provider that does not answer must not stop the others.
    if (!(fault instanceof UsageFault)) throw fault;
    return { result: startResult(id, { issues: [fault.message] }), wasThere: false };
  }
}
