import { type Catalog, compileCatalog, parseManifestFiles } from "../../catalog/index.ts";
import { type Clock, matchesGlob } from "../../kernel/index.ts";

export interface ListingsOptions {
  readonly manifestText: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Sends decisions in the provider's public format. Default: the marketplace's format. */
  readonly decisionsPublicForm?: boolean;
  /** Ids of the models to read; `*` matches any text; empty means all. */
  readonly models: readonly string[];
}

export type Listings =
  | {
      readonly ok: true;
      readonly providerId: string;
      readonly deployments: Catalog["deployments"];
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Fails if the manifest is invalid, its key is missing, or no model remains. */
export function readListings(options: ListingsOptions): Listings {
  const { file, manifestText, env, clock, decisionsPublicForm = false } = options;
  const parsed = parseManifestFiles([{ file, text: manifestText }]);
  const outcome = parsed.ok
    ? compileCatalog({
        manifests: parsed.manifests,
        hasKey: (name) => (env[name] ?? "") !== "",
        today: new Date(clock.nowMs()).toISOString().slice(0, 10),
        publicForm: () => decisionsPublicForm,
      })
    : parsed;
  if (!outcome.ok) {
    return refuse(...outcome.issues.map((each) => `${each.file}${each.pointer}: ${each.message}`));
  }
  const { deployments } = outcome.catalog;
  const keyless = deployments.find(({ notReady }) => notReady === "key_missing");
  if (keyless !== undefined) {
    return refuse(`the environment variable ${keyless.apiKeyEnv ?? ""} holds no key`);
  }
  const [first] = deployments;
  if (first === undefined) return refuse("every model of the manifest is past its date");
  const { models: globs } = options;
  const chosen = deployments.filter(
    ({ modelId }) => globs.length === 0 || globs.some((glob) => matchesGlob(glob, modelId)),
  );
  if (chosen.length === 0) return refuse("no model of the manifest has this name");
  return { ok: true, providerId: first.providerId, deployments: chosen };
}

function refuse(...problems: readonly string[]): Listings {
  return { ok: false, problems };
}
