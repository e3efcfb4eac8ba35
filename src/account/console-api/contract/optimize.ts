import { Type, type Static } from "typebox";

import {
  Count,
  Fields,
  Id,
  Instant,
  Name,
  nullable,
  oneOf,
  setting,
  Usd,
  UsdInput,
} from "./shared.ts";

const OptimizeObjective = oneOf("lowest_cost", "fastest", "best_judged");

export const OptimizeResult = Type.Object({
  model: Type.String(),
  calls: Count,
  failed: Count,
  cost_usd: Usd,
  cost_per_call_usd: nullable(Usd),
  ttft_p50_ms: nullable(Count),
  win_rate: nullable(Type.Number()),
  rank: nullable(Count),
});
export type OptimizeResult = Static<typeof OptimizeResult>;

export const OptimizeSearch = Type.Object({
  search_id: Id,
  name: Type.String(),
  objective: OptimizeObjective,
  judge_model: nullable(Type.String()),
  models: Type.Array(Type.String()),
  prompts: Count,
  budget_usd: Usd,
  spent_usd: Usd,
  state: oneOf("running", "finished", "stopped", "over_budget", "interrupted", "failed"),
  message: nullable(Type.String()),
  created_at: Instant,
  ended_at: nullable(Instant),
  calls_done: Count,
  calls_planned: Count,
  results: Type.Array(OptimizeResult),
});
export type OptimizeSearch = Static<typeof OptimizeSearch>;

const calls = {
  judge_model: Type.Optional(Id),
  models: Type.Array(Id, { minItems: 2, maxItems: 8, uniqueItems: true }),
  prompts: Type.Array(Type.String({ minLength: 1, maxLength: 20_000 }), {
    minItems: 3,
    maxItems: 50,
  }),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 4096 })),
};

const EstimatedModel = Type.Object({
  model: Type.String(),
  most_usd: Usd,
  message: nullable(Type.String()),
});

export const OptimizeEstimate = Type.Object({
  calls: Count,
  models: Type.Array(EstimatedModel),
  judge: nullable(EstimatedModel),
  most_usd: Usd,
  least_ms: Count,
});
export type OptimizeEstimate = Static<typeof OptimizeEstimate>;

export const OptimizeAnswer = Type.Object({
  prompt: Count,
  model: Type.String(),
  text: nullable(Type.String()),
  cost_usd: Usd,
  ttft_ms: nullable(Count),
  total_ms: nullable(Count),
});
export type OptimizeAnswer = Static<typeof OptimizeAnswer>;

export const OptimizeVerdict = Type.Object({
  prompt: Count,
  winner: nullable(Type.String()),
  cost_usd: Usd,
});
export type OptimizeVerdict = Static<typeof OptimizeVerdict>;

export const OptimizeAnswers = Type.Object({
  /**
   * True if this instance holds the answers in memory. Only the instance that runs the search does,
   * only for the person who started it, and at most until ten minutes after the end.
   */
  held: Type.Boolean(),
  answers: Type.Array(OptimizeAnswer),
  verdicts: Type.Array(OptimizeVerdict),
  next: Count,
  lost: Count,
  has_more: Type.Boolean(),
});
export type OptimizeAnswers = Static<typeof OptimizeAnswers>;

export const optimizeRoutes = {
  "GET /api/console/optimize": {
    summary: "Optimize searches, newest first",
    needs: "read",
    answer: Type.Object({ data: Type.Array(OptimizeSearch) }),
  },
  "POST /api/console/optimize": {
    summary: "Starts a search with a managed key whose cap is the budget",
    ...setting("keys"),
    body: Fields({ name: Name, objective: OptimizeObjective, ...calls, budget_usd: UsdInput }),
    answer: OptimizeSearch,
  },
  "POST /api/console/optimize-estimate": {
    summary: "What a search could cost at most; nothing is started, sent or stored",
    needs: "keys",
    body: Fields(calls),
    answer: OptimizeEstimate,
  },
  "GET /api/console/optimize/:search_id": {
    summary: "One search and its results so far",
    needs: "read",
    answer: OptimizeSearch,
  },
  "GET /api/console/optimize/:search_id/answers": {
    summary: "The answers of a search for who started it, held in memory while it runs",
    needs: "keys",
    query: Fields({ after: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })) }),
    answer: OptimizeAnswers,
  },
  "POST /api/console/optimize/:search_id/stop": {
    summary: "Stops a search; its results are kept",
    needs: "keys",
    answer: OptimizeSearch,
  },
} as const;
