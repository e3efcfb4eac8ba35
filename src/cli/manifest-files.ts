import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { type Manifest, validateManifest } from "../catalog/index.ts";
import { UsageFault } from "./command-context.ts";
import { listJsonFiles } from "../app/index.ts";

export interface ReadManifest {
  readonly file: string;
  readonly text: string;
  readonly manifest: Manifest;
}

/** A larger file cannot be a valid manifest. */
const FILE_BYTES_MAX = 16 * 1_048_576;
const PROBLEMS_SHOWN_MAX = 5;

/** Reads a manifest. If it is invalid, throws a `UsageFault` that lists its first problems. */
export function readManifestFile(file: string): ReadManifest {
  const text = readText(file);
  const verdict = validateManifest(text);
  if (verdict.ok) return { file, text, manifest: verdict.manifest };
  const lines = verdict.problems
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map(({ pointer, message }) => `${file}${pointer}: ${message}`);
  const rest = verdict.problems.length - lines.length;
  const more = rest > 0 ? [`and ${rest} more; \`tokenmarket manifest check ${file}\``] : [];
  throw new UsageFault([...lines, ...more].join("\n"));
}

/** Reads the provider's manifest from the folder. Throws a `UsageFault` if there is none. */
export function manifestOfProvider(folder: string, providerId: string): ReadManifest {
  const found = listManifestFiles(folder).find((file) => readProviderId(file) === providerId);
  if (found !== undefined) return readManifestFile(found);
  throw new UsageFault(
    `${folder} has no manifest of ${providerId}; name the file, or another folder with --manifests`,
  );
}

export function listManifestFiles(folder: string): readonly string[] {
  if (!existsSync(folder)) {
    throw new UsageFault(`${folder}: there is no such folder; name another with --manifests`);
  }
  return listJsonFiles(folder).map((name) => join(folder, name));
}

/** Undefined for a broken file, which must not stop the search for another provider's manifest. */
function readProviderId(file: string): string | undefined {
  try {
    const text = readText(file).replace(/^\uFEFF/, "");
    const { provider } = JSON.parse(text) as { provider?: { id?: string } };
    return provider?.id;
  } catch {
    return undefined;
  }
}

function readText(file: string): string {
  if (!existsSync(file)) throw new UsageFault(`${file}: there is no such file`);
  const stats = statSync(file);
  if (!stats.isFile()) throw new UsageFault(`${file}: is not a file; name a manifest`);
  if (stats.size > FILE_BYTES_MAX) {
    throw new UsageFault(`${file}: is larger than 16 MiB, which no manifest is`);
  }
  return readFileSync(file, "utf8");
}
