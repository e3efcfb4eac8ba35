import { createHash } from "node:crypto";

import type { CatalogIssue, ManifestFile } from "./catalog-input.ts";
import { validateManifest } from "./manifest/index.ts";

/** A file as read from the manifests folder. */
export interface ManifestText {
  readonly file: string;
  readonly text: string;
  /** As it is on disk, where `text` is a changed copy. */
  readonly original?: string;
}

export type ParsedManifests =
  | { readonly ok: true; readonly manifests: readonly ManifestFile[] }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

/** Validates every file: all manifests, or the problems of all files at once. */
export function parseManifestFiles(files: readonly ManifestText[]): ParsedManifests {
  const manifests: ManifestFile[] = [];
  const issues: CatalogIssue[] = [];
  for (const { file, text, original } of files) {
    const verdict = validateManifest(text);
    if (verdict.ok)
      manifests.push({ file, manifest: verdict.manifest, sha256: sha256Of(original ?? text) });
    else
      for (const { pointer, message } of verdict.problems) issues.push({ file, pointer, message });
  }
  return issues.length === 0 ? { ok: true, manifests } : { ok: false, issues };
}

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
