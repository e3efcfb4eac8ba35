import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { loadCatalog, renderIssue, listJsonFiles } from "../app/index.ts";
import type { Deployment } from "../catalog/index.ts";
import type { Config } from "../kernel/index.ts";
import type { VerifiedListing } from "../gateway/index.ts";
import { clock } from "./command-context.ts";
import type { CommandIo } from "./command-io.ts";

/** A listing that customers can reach, with the manifest against which it is checked. */
export interface WatchedListing extends VerifiedListing {
  readonly file: string;
  readonly manifestText: string;
  /** True if the server sends this listing decision requests in the provider's public format. */
  readonly decisionsPublicForm: boolean;
}

export type WatchedListings =
  | { readonly ok: true; readonly listings: readonly WatchedListing[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * The listings in the manifests folder that a server would route now, and those of private capacity
 * whose key is set.
 */
export function watchedListings(env: CommandIo["env"], config: Config): WatchedListings {
  const loaded = loadCatalog({ ...config, env, clock });
  if (!loaded.ok) {
    return { ok: false, problems: loaded.issues.map(renderIssue) };
  }
  const manifests = readManifests(config.manifestsDir);
  const reachable = loaded.catalog.deployments.filter((each) => isReachable(each, env));
  const listings = reachable.flatMap((deployment): WatchedListing[] => {
    const { providerId, modelId, upstreamModelId, manifestSha256 } = deployment;
    const manifest = manifests.get(manifestSha256);
    // The file changed between the two reads. `conformance watch` reads it again at its next step.
    if (manifest === undefined) return [];
    const decisionsPublicForm = deployment.decisions?.form === "public";
    const ids = { providerId, modelId, upstreamModelId, manifestSha256 };
    return [{ ...ids, decisionsPublicForm, ...manifest }];
  });
  return { ok: true, listings };
}

/** True if the listing is routed, or if it is private capacity whose key is set. */
function isReachable({ notReady, apiKeyEnv }: Deployment, env: CommandIo["env"]): boolean {
  const hasKey = apiKeyEnv === undefined || (env[apiKeyEnv] ?? "") !== "";
  return notReady === undefined || (notReady === "private" && hasKey);
}

type ManifestOnDisk = Pick<WatchedListing, "file" | "manifestText">;

function readManifests(folder: string): ReadonlyMap<string, ManifestOnDisk> {
  return new Map(
    listJsonFiles(folder).map((file) => {
      const manifestText = readFileSync(join(folder, file), "utf8");
      return [createHash("sha256").update(manifestText).digest("hex"), { file, manifestText }];
    }),
  );
}
