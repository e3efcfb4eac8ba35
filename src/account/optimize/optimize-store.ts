import type { KeyId, MicroUsd, OrgId } from "../../kernel/index.ts";
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
