import type { OrgId } from "../core/ids.ts";

/** Which changes are meant; absent: all. */
export interface ChangeFilter {
  readonly orgId?: OrgId;
  readonly sinceMs?: number;
  /** Actions that begin with it. */
  readonly actionPrefix?: string;
}

/** The part of an organization's own log that is wanted. */
export interface ChangePageFilter {
  readonly orgId: OrgId;
  readonly actionPrefix?: string;
  /** The account that made the changes. */
  readonly by?: string;
  /** Only what is older. */
  readonly untilMs?: number;
}
