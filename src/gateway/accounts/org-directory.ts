import type { OrgSummary } from "./account-store.ts";

/** An organization as operators see it. */
export interface ListedOrg extends OrgSummary {
  /** Has it ever bought credit? */
  readonly hasBought: boolean;
  /** Kinds of requests that are limited or restricted after unusual use. */
  readonly restrictions: number;
}
