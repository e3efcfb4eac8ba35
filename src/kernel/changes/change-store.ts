import type { OrgId } from "../core/ids.ts";

/** Which changes are meant; absent: all. */
export interface ChangeFilter {
  readonly orgId?: OrgId;
  readonly sinceMs?: number;
  /** Actions that begin with it. */
  readonly actionPrefix?: string;
}
