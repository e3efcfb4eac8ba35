import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { loadCatalog } from "../app/index.ts";
import type { Deployment } from "../catalog/index.ts";
import type { Config } from "../kernel/index.ts";
import type { VerifiedListing } from "../gateway/index.ts";
import { clock } from "./command-context.ts";
import type { CommandIo } from "./command-io.ts";

/** A listing that customers can reach, with the manifest that it is checked by. */
export interface WatchedListing extends VerifiedListing {
  readonly file: string;
  readonly manifestText: string;
  /** How its questions are asked by a server with this configuration. */
  readonly decisionsPublicForm: boolean;
}

export type WatchedListings =
  | { readonly ok: true; readonly listings: readonly WatchedListing[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** The listings of the manifests folder, as a server would route them now. */
export function watchedListings(env: CommandIo["env"], config: Config): WatchedListings {
  const loaded = loadCatalog({ ...config, env, clock });
  if (!loaded.ok) {
    const problems = loaded.issues.map(({ file, pointer, message }) =>
      pointer === "" ? `${file}: ${message}` : `${file}${pointer}: ${message}`,
    );
    return { ok: false, problems };
  }
  const manifests = readManifests(config.manifestsDir);
  const reachable = loaded.catalog.deployments.filter((each) => isReachable(each, env));
  const listings = reachable.flatMap((deployment): WatchedListing[] => {
    const { providerId, modelId, upstreamModelId, manifestSha256 } = deployment;
    const manifest = manifests.get(manifestSha256);
    // A file that was changed this moment is read at the next step.
    if (manifest === undefined) return [];
    const decisionsPublicForm = deployment.decisions?.form === "public";
    return [
      {
        providerId,
        modelId,
        upstreamModelId,
        manifestSha256,
        decisionsPublicForm,
        ...manifest,
      },
    ];
  });
  return { ok: true, listings };
}

/** Private capacity is reached by its own endpoint. */
function isReachable({ notReady, apiKeyEnv }: Deployment, env: CommandIo["env"]): boolean {
  const hasKey = apiKeyEnv === undefined || (env[apiKeyEnv] ?? "") !== "";
  return notReady === undefined || (notReady === "private" && hasKey);
}

type ManifestOnDisk = Pick<WatchedListing, "file" | "manifestText">;

function readManifests(folder: string): ReadonlyMap<string, ManifestOnDisk> {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return new Map(
    files.map((file) => {
      const manifestText = readFileSync(join(folder, file), "utf8");
      return [createHash("sha256").update(manifestText).digest("hex"), { file, manifestText }];
    }),
  );
}
