import type { ManifestDifference, RefreshFinding } from "../listing-tools/index.ts";

/** What became of one manifest. */
export interface RefreshedFile {
  readonly file: string;
  readonly provider: string;
  readonly state:
    | "changed"
    | "unchanged"
    /** It was not imported, so there is nothing to import again. */
    | "no_source"
    /** No head of this provider is known to import with. */
    | "no_head"
    /** The source is older than what was imported. */
    | "older_source"
    /** The source has nothing of this provider. */
    | "lists_nothing"
    /** It would not be valid any more. */
    | "invalid";
  readonly detail?: string;
  /** What customers are offered before and after. */
  readonly difference?: ManifestDifference;
  readonly findings: readonly RefreshFinding[];
}
