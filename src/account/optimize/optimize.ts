import {
  columns,
  instantMs,
  integer,
  type KeyId,
  micro,
  type MicroUsd,
  opaque,
  type OrgId,
  orNull,
  type RecordOf,
  text,
} from "../../kernel/index.ts";

export type OptimizeObjective = "lowest_cost" | "fastest" | "best_judged";

export type OptimizeState =
  "running" | "finished" | "stopped" | "over_budget" | "interrupted" | "failed";

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
  /** The place by the objective, best is 1; null without an answer or with too few verdicts. */
  readonly rank: number | null;
}

/** A result as JSON: money as digits, for JSON has no exact numbers. */
export type StoredResult = Omit<OptimizeResult, "costMicroUsd" | "costPerCallMicroUsd"> & {
  readonly costMicroUsd: string;
  readonly costPerCallMicroUsd: string | null;
};

export const searchColumns = columns({
  searchId: text("search_id"),
  orgId: text<OrgId>("org_id"),
  /** The managed key of the search, which is never shown. */
  keyId: text<KeyId>("key_id"),
  name: text("name"),
  objective: text<OptimizeObjective>("objective"),
  judgeModelId: orNull(text("judge_model_id")),
  modelIds: opaque<readonly string[]>("model_ids"),
  /** The number of prompts; their texts are only in the memory of the running process. */
  prompts: integer("prompts"),
  budgetMicroUsd: micro("budget"),
  /** Settled spend of its key, the judge's calls included. */
  spentMicroUsd: micro("spent"),
  state: text<OptimizeState>("state"),
  message: orNull(text("message")),
  createdAtMs: instantMs("created_at"),
  endedAtMs: orNull(instantMs("ended_at")),
  callsDone: integer("calls_done"),
  callsPlanned: integer("calls_planned"),
  results: opaque<readonly StoredResult[]>("results"),
});

export type OptimizeSearch = Omit<RecordOf<typeof searchColumns>, "results"> & {
  /** In the order of `modelIds`. */
  readonly results: readonly OptimizeResult[];
};

/** The fields that decide how many calls there are and how much each can cost. */
export interface WantedCalls {
  /** The judge, needed for `best_judged`; with another objective it adds the win rate. */
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
