import type { OrgId } from "../core/index.ts";
import type { ChangedBy, RecordedChange } from "./change.ts";

/** Which changes are meant; absent: all. */
export interface ChangeFilter {
  readonly orgId?: OrgId;
  readonly sinceMs?: number;
  /** Actions that begin with it. */
  readonly actionPrefix?: string;
}

/** Reads the change log, and retires it. */
export interface ChangeStore {
  /** Newest first. */
  list(filter: ChangeFilter & { readonly limit: number }): Promise<readonly RecordedChange[]>;
  /** Oldest first, in blocks: what is committed when a block is read. */
  blocks(filter: ChangeFilter): AsyncIterable<readonly RecordedChange[]>;
  /**
   * What an organization sees of its own log, newest first: never of another's, never what only
   * operators see. With `before` what is older than that position.
   */
  page(of: {
    readonly orgId: OrgId;
    readonly actionPrefix?: string;
    readonly before?: number;
    readonly limit: number;
  }): Promise<readonly RecordedChange[]>;
  /** Takes away what is older than so many days; how many rows went. That is a change too. */
  retire(days: number, by: ChangedBy): Promise<number>;
}
