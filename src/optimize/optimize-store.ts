import type { ChangedBy } from "../changes/index.ts";
import type { KeyId, MicroUsd, OrgId } from "../core/index.ts";
import type { OptimizeResult, OptimizeSearch, OptimizeState } from "./optimize.ts";

/** What a new search and its managed key begin with. */
export interface NewSearch {
  readonly searchId: string;
  readonly orgId: OrgId;
  readonly name: string;
  readonly objective: OptimizeSearch["objective"];
  readonly judgeModelId: string | null;
  readonly modelIds: readonly string[];
  readonly prompts: number;
  readonly callsPlanned: number;
  readonly budgetMicroUsd: MicroUsd;
  readonly key: {
    readonly keyId: KeyId;
    readonly digest: Buffer;
    readonly label: string;
    readonly requestsPerMinute: number;
  };
  /** When it is not renewed for so long, the process counts as dead. */
  readonly leaseMs: number;
}

/** What a running search has found so far. */
export interface SearchProgress {
  readonly callsDone: number;
  readonly results: readonly OptimizeResult[];
}

export interface SearchEnd extends SearchProgress {
  readonly state: Exclude<OptimizeState, "running">;
  readonly message: string | null;
}

/**
 * Searches of organizations: results, never a prompt or an answer. A search ends once, and its key
 * is disabled in the same commit.
 */
export interface OptimizeStore {
  /** Newest first, 200 at most. */
  list(orgId: OrgId): Promise<readonly OptimizeSearch[]>;
  find(orgId: OrgId, searchId: string): Promise<OptimizeSearch | undefined>;
  /** Makes the search and its key, or nothing: `too_many` run for the organization already. */
  begin(search: NewSearch, runningMax: number, by: ChangedBy): Promise<OptimizeSearch | "too_many">;
  /** Writes progress and renews the lease. False: the search has ended, so its process stops. */
  keep(searchId: string, progress: SearchProgress, leaseMs: number): Promise<boolean>;
  /** Ends a running search; false: it had ended before, and stays as it is. */
  end(searchId: string, end: SearchEnd, by: ChangedBy): Promise<boolean>;
  /** `stopped`, with what was last written; one that has ended stays as it is. */
  stop(orgId: OrgId, searchId: string, by: ChangedBy): Promise<OptimizeSearch | undefined>;
  /** Ends as `interrupted` what no process runs any more; returns how many. */
  interruptDead(message: string): Promise<number>;
}
