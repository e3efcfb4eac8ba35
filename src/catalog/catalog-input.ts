import { createHash } from "node:crypto";

import type { NotReadyReason } from "./catalog.ts";
import { validateManifest } from "./manifest/index.ts";
import type { Manifest } from "./manifest/manifest-schema.ts";

/** A valid manifest and the name of its file, for messages. */
export interface ManifestFile {
  readonly file: string;
  readonly manifest: Manifest;
  /** SHA-256 of its text, hexadecimal. A verdict on the manifest holds while this is unchanged. */
  readonly sha256: string;
}

/** A reason why the manifests cannot be compiled into one catalog. */
export interface CatalogIssue {
  readonly file: string;
  /** JSON pointer into the file; "" is the whole document. */
  readonly pointer: string;
  readonly message: string;
}
/**
 * A note about a listing: it is not routed, has left, does not exist although a pool names it, or
 * has a price that is rarely meant. Names variables, never values.
 */
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

/** A file as read from the manifests folder. */
export interface ManifestText {
  readonly file: string;
  readonly text: string;
  /** The text on disk, if `text` is a changed copy. */
  readonly original?: string;
}

export type ParsedManifests =
  | { readonly ok: true; readonly manifests: readonly ManifestFile[] }
  | { readonly ok: false; readonly issues: readonly CatalogIssue[] };

/** Validates every file: returns all manifests, or the problems of all files at once. */
export function parseManifestFiles(files: readonly ManifestText[]): ParsedManifests {
  const manifests: ManifestFile[] = [];
  const issues: CatalogIssue[] = [];
  for (const { file, text, original } of files) {
    const verdict = validateManifest(text);
    if (verdict.ok)
      manifests.push({ file, manifest: verdict.manifest, sha256: sha256Hex(original ?? text) });
    else
      for (const { pointer, message } of verdict.problems) issues.push({ file, pointer, message });
  }
  return issues.length === 0 ? { ok: true, manifests } : { ok: false, issues };
}

function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
