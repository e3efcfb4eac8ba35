import type { OrgSummary } from "./account-store.ts";

/** An organization as operators see it. */
export interface ListedOrg extends OrgSummary {
  /** Has it ever bought credit? */
  readonly hasBought: boolean;
  /** Kinds of requests that are limited or restricted after unusual use. */
  readonly restrictions: number;
}

/** All organizations of the installation: for operators, never for a customer. */
export interface OrgDirectory {
  /** Newest first. `search` is a part of the name, the e-mail or the id; empty: all. */
  page(asked: {
    readonly search: string;
    /** The id of the last organization of the page before. */
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ListedOrg[]>;
  find(orgId: string): Promise<ListedOrg | undefined>;
}
