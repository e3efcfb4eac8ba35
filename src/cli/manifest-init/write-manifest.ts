import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import {
  compileCatalog,
  keyOwners,
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
import {
  clock,
  type CommandContext,
  type Flags,
  readText,
  UsageFault,
} from "../command-context.ts";
import { writeWhole } from "../replace-file.ts";
import { listJsonFiles, SHIPPED_MANIFESTS } from "../../app/index.ts";
import { findHead, withMargin } from "../../listing-tools/index.ts";
import { type InitResult, shellWord } from "./init-flags.ts";

/** A place for a manifest. `file` is `-` for standard output. */
export interface ManifestPlace {
  readonly config: Config;
  readonly file: string;
  readonly margin: string | undefined;
}

/** Writes a manifest, and completes the result `known`. Writes no manifest that has a problem. */
export function placeManifest(
  { stdout }: Pick<CommandContext, "stdout">,
  { config, file, margin }: ManifestPlace,
  draft: Manifest,
  known: InitResult,
): InitResult {
  const manifest = margin === undefined ? draft : withMargin(draft, margin);
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  const issues = placeProblems(config, file, text);
  if (issues.length > 0) return { ...known, issues };
  const result = { ...known, file, listed: manifest.models.map(({ id }) => id) };
  if (file === "-") {
    stdout.write(text);
    return result;
  }
  mkdirSync(dirname(resolve(file)), { recursive: true });
  // A server that watches the folder must never read half of a manifest.
  writeWhole(file, text);
  const allow = config.allowPrivateUpstreams ? " --allow-private" : "";
  const command = `tokenmarket conformance run ${shellWord(file)} --budget-usd 0.10${allow}`;
  return { ...result, conformance: command };
}

/**
 * The problems of a manifest at this path, of the first kind that it has: invalid contents, misused
 * key variables, conflicts with other manifests. Problems of other files are left out.
 */
function placeProblems(config: Config, file: string, text: string): readonly string[] {
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
 * Why the key in this variable must not be sent to this endpoint: it is a secret of this program,
 * or another provider's key. Callers check this before they send the key.
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

export function toManifestPath(config: Config, providerId: string): string {
  return join(config.manifestsDir, `${providerId}.json`);
}

/** The file to write. An existing file may have been edited, so only `--force` replaces it. */
export function chooseFile(config: Config, flags: Flags, providerId: string): string {
  const file = readText(flags, "out") ?? toManifestPath(config, providerId);
  if (file === "-" || flags["force"] === true || !existsSync(file)) return file;
  throw new UsageFault(`${file} exists; give --force to replace it, or --out for another file`);
}

function keyIssues(
  config: Config,
  manifests: readonly Pick<ManifestFile, "file" | "manifest">[],
  file: string,
): readonly string[] {
  const parsed = parseKeyOrigins(config.providerKeyOrigins);
  if (!parsed.ok) throw new UsageFault(`provider_key_origins ${parsed.message}`);
  const rules = { isOwnVariable, origins: parsed.origins };
  // Existing manifests own their key variables, so a new manifest cannot use another provider's
  // key.
  const others = manifests.filter((each) => each.file !== file);
  return keyProblems(manifests, { ...rules, owners: keyOwners(others, rules) })
    .filter((problem) => problem.file === file)
    .map(({ pointer, message }) => `${file}${pointer}: ${message}`);
}

function otherManifests(folder: string, file: string): readonly ManifestFile[] {
  if (!existsSync(folder)) return [];
  return listJsonFiles(folder)
    .filter((name) => resolve(folder, name) !== resolve(file))
    .flatMap((name) => {
      const parsed = parseManifestFiles([
        { file: name, text: readFileSync(join(folder, name), "utf8") },
      ]);
      return parsed.ok ? parsed.manifests : [];
    });
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
    const verdict = validateManifest(readFileSync(join(SHIPPED_MANIFESTS, name), "utf8"));
    return verdict.ok ? [verdict.manifest] : [];
  });
}

/** By model ID, the listing of the maker, else of a reseller: makers have the lowest `priority`. */
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
