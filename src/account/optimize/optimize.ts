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
  /** Calls that have ended, including failed ones. */
  readonly calls: number;
  readonly failed: number;
  /** The debits of this model's calls; the judge's calls are not included. */
  readonly costMicroUsd: MicroUsd;
  /** The cost per answered call, rounded down to the micro-dollar; null if none was answered. */
  readonly costPerCallMicroUsd: MicroUsd | null;
  readonly firstByteP50Ms: number | null;
  /** The share of its judged prompts that the model won, 0 to 1; null if none was judged. */
  readonly winRate: number | null;
  /**
   * The place by the objective, 1 is best; null if the model did not answer, or if the judge
   * decided too few prompts.
   */
  readonly rank: number | null;
}

/** Money is stored as a string of digits, since JSON has no exact numbers. */
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
  /** The number of prompts. Only the process that runs the search has their texts. */
  prompts: integer("prompts"),
  budgetMicroUsd: micro("budget"),
  /** The settled spend of the search's key, including the judge's calls. */
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

export interface WantedCalls {
  /** Required for `best_judged`; with another objective the judge only adds the win rate. */
  readonly judgeModelId: string | null;
  /** 2 to 8 different models. */
  readonly modelIds: readonly string[];
  /** 3 to 50 prompts. */
  readonly prompts: readonly string[];
  /** The longest answer in tokens, 1 to 4,096; null means 512. */
  readonly maxTokens: number | null;
}

export interface SearchEstimate {
  readonly calls: number;
  /** In the order of the requested `modelIds`. */
  readonly models: readonly EstimatedModel[];
  readonly judge: EstimatedModel | null;
  /** The highest cost of all calls; a smaller budget may end the search early. */
  readonly mostMicroUsd: MicroUsd;
  /**
   * The least duration of the search: the gaps between its calls. Answers that take longer than two
   * gaps add to it.
   */
  readonly leastMs: number;
}

export interface EstimatedModel {
  readonly modelId: string;
  readonly mostMicroUsd: MicroUsd;
  /** Why the model's calls would be refused now; null if they would be accepted. */
  readonly message: string | null;
}

export interface WantedSearch extends WantedCalls {
  readonly name: string;
  readonly objective: OptimizeObjective;
  /** Above 0; it becomes the cap of the search's key. */
  readonly budgetMicroUsd: MicroUsd;
}

/** Why a search was not started; nothing was created. */
export interface OptimizeRefusal {
  readonly kind: "refused";
  /** `invalid_request`: 400; `conflict`: 409, too many searches are running; `unavailable`: 503. */
  readonly code: "invalid_request" | "conflict" | "unavailable";
  readonly field?: "models" | "judge_model" | "budget_usd";
  readonly message: string;
}
