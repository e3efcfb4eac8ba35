import { hash } from "node:crypto";

import type { NotReadyReason } from "./catalog.ts";
import { validateManifest } from "./manifest/index.ts";
import type { Manifest } from "./manifest/manifest-schema.ts";

export interface ManifestFile {
  readonly file: string;
  readonly manifest: Manifest;
  /** SHA-256 of the text on disk, hexadecimal. A stored verdict counts only for the same hash. */
  readonly sha256: string;
}

export interface CatalogIssue {
  readonly file: string;
  /** JSON pointer into the file; "" is the whole document. */
  readonly pointer: string;
  readonly message: string;
}

/** A warning, which stops no build. `message` may name variables, but never has their values. */
export interface CatalogNote {
  readonly file: string;
  readonly deploymentId: string;
  readonly reason:
    | NotReadyReason
    | "past_dated"
    | "unknown_listing"
    | "purchase_above_price"
    | "price_implausible";
  readonly message: string;
}

export interface ManifestText {
  readonly file: string;
  readonly text: string;
  /** The text on disk, if `text` is a changed copy. `sha256` is then the hash of `original`. */
  readonly original?: string;
}

export type ParsedManifests =
  | { readonly ok: true; readonly manifests: readonly ManifestFile[] }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

export function parseManifestFiles(files: readonly ManifestText[]): ParsedManifests {
  const manifests: ManifestFile[] = [];
  const issues: CatalogIssue[] = [];
  for (const { file, text, original } of files) {
    const verdict = validateManifest(text);
    if (verdict.ok)
      manifests.push({
        file,
        manifest: verdict.manifest,
        sha256: hash("sha256", original ?? text),
      });
    else
      for (const { pointer, message } of verdict.problems) issues.push({ file, pointer, message });
  }
  return issues.length === 0 ? { ok: true, manifests } : { ok: false, issues };
}
