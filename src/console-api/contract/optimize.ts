import { Type, type Static } from "typebox";

import { Count, Id, Instant, Name, nullable, oneOf, Usd, UsdInput } from "./shared.ts";

export const OptimizeObjective = oneOf("lowest_cost", "fastest", "best_judged");

/** What one candidate did. */
export const OptimizeResult = Type.Object({
  model: Type.String(),
  calls: Count,
  failed: Count,
  cost_usd: Usd,
  cost_per_call_usd: nullable(Usd),
  ttft_p50_ms: nullable(Count),
  /** Share of answers that the judge liked best, 0 to 1; null without a judge. */
  win_rate: nullable(Type.Number()),
  /** By the objective, best is 1. */
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
  /** Why it ended so, where that needs a word. */
  message: nullable(Type.String()),
  created_at: Instant,
  ended_at: nullable(Instant),
  calls_done: Count,
  calls_planned: Count,
  results: Type.Array(OptimizeResult),
});
export type OptimizeSearch = Static<typeof OptimizeSearch>;

export const NewOptimizeSearch = Type.Object(
  {
    name: Name,
    objective: OptimizeObjective,
    judge_model: Type.Optional(Id),
    models: Type.Array(Id, { minItems: 2, maxItems: 8, uniqueItems: true }),
    prompts: Type.Array(Type.String({ minLength: 1, maxLength: 20_000 }), {
      minItems: 3,
      maxItems: 50,
    }),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 4096 })),
    budget_usd: UsdInput,
  },
  { additionalProperties: false },
);
export type NewOptimizeSearch = Static<typeof NewOptimizeSearch>;

const params = Type.Object({ search_id: Id });

export const optimizeRoutes = {
  "GET /api/console/optimize": {
    summary: "Optimize searches, newest first",
    access: "session",
    needs: "read",
    answer: Type.Object({ data: Type.Array(OptimizeSearch) }),
  },
  "POST /api/console/optimize": {
    summary: "Starts a search with a managed key whose cap is the budget",
    access: "session",
    needs: "keys",
    body: NewOptimizeSearch,
    answer: OptimizeSearch,
  },
  "GET /api/console/optimize/:search_id": {
    summary: "One search and its results so far",
    access: "session",
    needs: "read",
    params,
    answer: OptimizeSearch,
  },
  "POST /api/console/optimize/:search_id/stop": {
    summary: "Stops a search; its results are kept",
    access: "session",
    needs: "keys",
    params,
    answer: OptimizeSearch,
  },
} as const;
