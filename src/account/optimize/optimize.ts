import type { Principal } from "../../gateway/index.ts";
import type { ChangedBy, KeyId, MicroUsd, OrgId } from "../../kernel/index.ts";
import type { FedEvents } from "./answer-feed.ts";

export type OptimizeObjective = "lowest_cost" | "fastest" | "best_judged";

export type OptimizeState =
  "running" | "finished" | "stopped" | "over_budget" | "interrupted" | "failed";

/** The result of one candidate. */
export interface OptimizeResult {
  readonly modelId: string;
  /** Calls that have ended, failed ones too. */
  readonly calls: number;
  readonly failed: number;
  /** The debits of these calls; the judge's calls belong to no model. */
  readonly costMicroUsd: MicroUsd;
  /** Cost by answered call, cut to the micro-dollar; null without an answer. */
  readonly costPerCallMicroUsd: MicroUsd | null;
  readonly firstByteP50Ms: number | null;
  /** Share of judged prompts that it won, 0 to 1; null when none was judged. */
  readonly winRate: number | null;
  /** By the objective, best is 1; null without an answer, and of all where a judge decided too little. */
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

/** The fields that decide how many calls there are and how much each can cost. */
export interface WantedCalls {
  /** Needed for `best_judged`; with another objective it adds the win rate. */
  readonly judgeModelId: string | null;
  /** 2 to 8, each once. */
  readonly modelIds: readonly string[];
  /** 3 to 50. */
  readonly prompts: readonly string[];
  /** Longest answer in tokens, 1 to 4096; null: 512. */
  readonly maxTokens: number | null;
}

/** The highest cost of a search at today's prices. */
export interface SearchEstimate {
  readonly calls: number;
  /** In the order of the models wanted. */
  readonly models: readonly EstimatedModel[];
  readonly judge: EstimatedModel | null;
  /** The highest cost of all calls; a budget below it ends the search earlier. */
  readonly mostMicroUsd: MicroUsd;
  /** The pauses between calls alone; answers that take longer than two of them add to it. */
  readonly leastMs: number;
}

export interface EstimatedModel {
  readonly modelId: string;
  readonly mostMicroUsd: MicroUsd;
  /** Why its calls would be refused now; null if they would be accepted. */
  readonly message: string | null;
}

export interface WantedSearch extends WantedCalls {
  readonly name: string;
  readonly objective: OptimizeObjective;
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
  /** The highest cost; nothing is made or sent. */
  estimate(
    principal: Principal,
    wanted: WantedCalls,
  ): Promise<{ readonly kind: "estimated"; readonly estimate: SearchEstimate } | OptimizeRefusal>;
  /**
   * The answers after the first `after` events; only the person who started the search may read
   * them. Undefined if this process has none of them. It keeps the last million characters, until
   * ten minutes after the end.
   */
  answers(
    orgId: OrgId,
    searchId: string,
    asked: { readonly after: number; readonly by: ChangedBy },
  ): FedEvents | undefined;
  /** One that has ended stays as it is. Undefined: no such search. */
  stop(orgId: OrgId, searchId: string, by: ChangedBy): Promise<OptimizeSearch | undefined>;
  /** Ends what runs in this process as `interrupted`; their keys are disabled. */
  close(): Promise<void>;
}
