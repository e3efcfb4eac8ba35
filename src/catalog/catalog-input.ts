import type { NotReadyReason } from "./catalog.ts";
import type { Manifest } from "./manifest/manifest.ts";

/** A valid manifest and the name of the file it was read from, for messages. */
export interface ManifestFile {
  readonly file: string;
  readonly manifest: Manifest;
  /** SHA-256 of its text, hexadecimal: a verdict on it counts as long as this is the same. */
  readonly sha256: string;
}

/** Why manifests cannot be one catalog. */
export interface CatalogIssue {
  readonly file: string;
  /** JSON pointer into the file; "" is the whole document. */
  readonly pointer: string;
  readonly message: string;
}
/**
 * A listing that is compiled but not routed, that has left, that a pool names in vain, or whose
 * price is rarely meant; names variables, never values.
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
