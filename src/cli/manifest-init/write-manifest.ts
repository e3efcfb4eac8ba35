import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import {
  compileCatalog,
  keyProblems,
  type Manifest,
  type ManifestFile,
  parseKeyOrigins,
  parseManifestFiles,
  validateManifest,
  type ManifestListingTerms,
  type ManifestModel,
} from "../../catalog/index.ts";
import { type Config, isOwnVariable } from "../../kernel/index.ts";
import { clock, UsageFault } from "../command-context.ts";
import { listJsonFiles, SHIPPED_MANIFESTS } from "../../app/index.ts";
import { findHead } from "../../listing-tools/index.ts";

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/**
 * Finds everything that is wrong with a manifest at this path: invalid contents, a misused key
 * variable, and conflicts with the other manifests in one catalog. Leaves out problems of other
 * files.
 */
export function placeProblems(config: Config, file: string, text: string): readonly string[] {
  const verdict = validateManifest(text);
  if (!verdict.ok) {
    return verdict.problems.map(({ pointer, message }) => `${file}${pointer}: ${message}`);
  }
  const own = { file: basename(file), manifest: verdict.manifest, sha256: "" };
  const others = otherManifests(config.manifestsDir, file);
  const misplaced = keyIssues(config, [...others, own], own.file);
  if (misplaced.length > 0) return misplaced;
  const compiled = compileCatalog({
    manifests: [...others, own],
    hasKey: () => true,
    today: new Date(clock.nowMs()).toISOString().slice(0, 10),
  });
  if (compiled.ok) return [];
  return compiled.issues
    .filter((issue) => issue.file === own.file)
    .map(({ pointer, message }) => `${file}${pointer}: ${message}`);
}

/**
 * The reason why the key in this variable must not be sent to this endpoint: it is a secret of this
 * program, or it belongs to another provider. Undefined if it may be sent. Callers check this
 * before they send the key.
 */
export function keyIssue(
  config: Config,
  file: string,
  endpoint: { readonly baseUrl: string; readonly apiKeyEnv: string },
): string | undefined {
  const manifest = {
    endpoint: { base_url: endpoint.baseUrl, api_key_env: endpoint.apiKeyEnv },
  } as Manifest;
  const own = { file: basename(file), manifest };
  return keyIssues(config, [...otherManifests(config.manifestsDir, file), own], own.file)[0];
}

/** Writes the whole file or nothing: a server that watches the folder never reads half of it. */
export function writeManifest(file: string, text: string): void {
  mkdirSync(dirname(resolve(file)), { recursive: true });
  const unfinished = `${file}.unfinished`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
}

/** An existing file may have been edited by hand, so only `--force` replaces it. */
export function mayReplace(file: string, isForced: boolean): void {
  if (isForced || !existsSync(file)) return;
  throw new UsageFault(`${file} exists; give --force to replace it, or --out for another file`);
}

function keyIssues(
  config: Config,
  manifests: readonly Pick<ManifestFile, "file" | "manifest">[],
  file: string,
): readonly string[] {
  const parsed = parseKeyOrigins(config.providerKeyOrigins);
  if (!parsed.ok) throw new UsageFault(`provider_key_origins ${parsed.message}`);
  const { origins } = parsed;
  // Existing manifests own their key variables, so a new manifest cannot use another provider's
  // key.
  const known = indexKeyOwners(manifests.filter((each) => each.file !== file));
  return keyProblems(manifests, { isOwnVariable, origins, owners: known })
    .filter((problem) => problem.file === file)
    .map(({ pointer, message }) => `${file}${pointer}: ${message}`);
}

function indexKeyOwners(
  manifests: readonly Pick<ManifestFile, "file" | "manifest">[],
): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const { manifest } of manifests) {
    const { api_key_env: name, base_url: baseUrl } = manifest.endpoint;
    if (name !== undefined && !owners.has(name)) owners.set(name, new URL(baseUrl).origin);
  }
  return owners;
}

/** The valid manifests in the folder, except the one that is being written. */
function otherManifests(folder: string, file: string): readonly ManifestFile[] {
  if (!existsSync(folder)) return [];
  return listJsonFiles(folder)
    .filter((name) => resolve(folder, name) !== resolve(file))
    .flatMap((name) => {
      const parsed = parseManifestFiles([{ file: name, text: readText(join(folder, name)) }]);
      return parsed.ok ? parsed.manifests : [];
    });
}

function readText(file: string): string {
  return readFileSync(file, "utf8");
}

export function shippedManifest(providerId: string): Manifest | undefined {
  const file = join(SHIPPED_MANIFESTS, `${providerId}.json`);
  // The ID must be that of a known provider, so that it cannot name a file in another folder.
  if (findHead(providerId) === undefined || !existsSync(file)) return undefined;
  const verdict = validateManifest(readFileSync(file, "utf8"));
  return verdict.ok ? verdict.manifest : undefined;
}

interface ShippedListing {
  readonly providerId: string;
  readonly model: ManifestModel;
  readonly terms: ManifestListingTerms | undefined;
}

export function shippedManifests(): Manifest[] {
  if (!existsSync(SHIPPED_MANIFESTS)) return [];
  return listJsonFiles(SHIPPED_MANIFESTS).flatMap((name) => {
    const verdict = validateManifest(readText(join(SHIPPED_MANIFESTS, name)));
    return verdict.ok ? [verdict.manifest] : [];
  });
}

/**
 * Every shipped listing of a real provider, by model ID. If several providers list a model, the
 * provider with the smallest priority number is used: makers of models before resellers.
 */
export function shippedListings(): ReadonlyMap<string, ShippedListing> {
  const real = shippedManifests().filter(({ provider }) => findHead(provider.id) !== undefined);
  const listings = new Map<string, ShippedListing>();
  for (const { provider, models, listing_terms: terms } of real.toSorted(byPriority)) {
    for (const model of models.filter(({ id }) => !listings.has(id))) {
      listings.set(model.id, { providerId: provider.id, model, terms: terms?.[model.id] });
    }
  }
  return listings;
}

function byPriority(a: Manifest, b: Manifest): number {
  const order = (a.provider.priority ?? 0) - (b.provider.priority ?? 0);
  return order === 0 ? Number(a.provider.id > b.provider.id) * 2 - 1 : order;
}
