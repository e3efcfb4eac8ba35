import type { ChangedBy } from "../changes/index.ts";
import type { KeyId, MicroUsd, OrgId } from "../core/index.ts";

export type OptimizeObjective = "lowest_cost" | "fastest" | "best_judged";

export type OptimizeState =
  "running" | "finished" | "stopped" | "over_budget" | "interrupted" | "failed";

/** What one candidate did. */
export interface OptimizeResult {
  readonly modelId: string;
  /** Calls that have ended, failed ones too. */
  readonly calls: number;
  readonly failed: number;
  /** What these calls were debited; the judge's calls belong to no model. */
  readonly costMicroUsd: MicroUsd;
  /** Cost by answered call, cut to the micro-dollar; null without an answer. */
  readonly costPerCallMicroUsd: MicroUsd | null;
  readonly firstByteP50Ms: number | null;
  /** Share of judged prompts that it won, 0 to 1; null when none was judged. */
  readonly winRate: number | null;
  /** By the objective, best is 1; null without an answer. */
  readonly rank: number | null;
}

export interface OptimizeSearch {
  readonly searchId: string;
  readonly orgId: OrgId;
  /** Its managed key: never shown. */
  readonly keyId: KeyId;
  readonly name: string;
  readonly objective: OptimizeObjective;
  readonly judgeModelId: string | null;
  readonly modelIds: readonly string[];
  /** How many; their texts are only in the memory of the process that runs the search. */
  readonly prompts: number;
  readonly budgetMicroUsd: MicroUsd;
  /** Settled spend of its key, the judge's calls included. */
  readonly spentMicroUsd: MicroUsd;
  readonly state: OptimizeState;
  /** Why it ended so, where that needs a word. */
  readonly message: string | null;
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
  readonly callsDone: number;
  readonly callsPlanned: number;
  /** In the order of `modelIds`. */
  readonly results: readonly OptimizeResult[];
}

export interface WantedSearch {
  readonly name: string;
  readonly objective: OptimizeObjective;
  /** Needed for `best_judged`; with another objective it adds the win rate. */
  readonly judgeModelId: string | null;
  /** 2 to 8, each once. */
  readonly modelIds: readonly string[];
  /** 3 to 50. */
  readonly prompts: readonly string[];
  /** Longest answer in tokens, 1 to 4096; null: 512. */
  readonly maxTokens: number | null;
  /** Above 0: the cap of the search's key. */
  readonly budgetMicroUsd: MicroUsd;
}

/** Why a search was not started; nothing was made. */
export interface OptimizeRefusal {
  readonly kind: "refused";
  /** `invalid_request`: 400, `conflict`: 409 (too many are running), `unavailable`: 503. */
  readonly code: "invalid_request" | "conflict" | "unavailable";
  /** The field of the request that is meant, in the API's terms. */
  readonly field?: "models" | "judge_model" | "budget_usd";
  readonly message: string;
}

/**
 * Searches for the best model of an organization's own prompts. Every search has a managed key
 * whose cap is the budget and which is disabled when the search ends. Every verb carries the
 * organization: another's search is a search that does not exist.
 */
export interface OptimizeSearches {
  /** Newest first, 200 at most. */
  list(orgId: OrgId): Promise<readonly OptimizeSearch[]>;
  find(orgId: OrgId, searchId: string): Promise<OptimizeSearch | undefined>;
  /** Answers as soon as the search is running. */
  start(
    orgId: OrgId,
    wanted: WantedSearch,
    by: ChangedBy,
  ): Promise<{ readonly kind: "started"; readonly search: OptimizeSearch } | OptimizeRefusal>;
  /** One that has ended stays as it is. Undefined: no such search. */
  stop(orgId: OrgId, searchId: string, by: ChangedBy): Promise<OptimizeSearch | undefined>;
  /** Ends what runs in this process as `interrupted`; their keys are disabled. */
  close(): Promise<void>;
}
