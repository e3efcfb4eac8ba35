import { formatUsd, unreachable } from "../core/index.ts";
import type {
  OptimizeRefusal,
  OptimizeResult as FoundResult,
  OptimizeSearch as FoundSearch,
} from "../optimize/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField, notFound } from "./console-refusal.ts";
import type { OptimizeResult, OptimizeSearch } from "./contract.ts";
import type { optimizeRoutes } from "./contract/optimize.ts";
import type { Handlers } from "./handler.ts";
import { instant, instantOrNull, readAmount, readName } from "./read-values.ts";

/** Optimize searches of the organization. */
export function optimizeHandlers({
  optimize,
}: Pick<ConsoleDeps, "optimize">): Handlers<keyof typeof optimizeRoutes> {
  return {
    "GET /api/console/optimize": async ({ session }) => ({
      data: (await optimize.list(session.orgId)).map(shownSearch),
    }),

    "POST /api/console/optimize": async ({ session, body, by }) => {
      const name = readName(body.name);
      if (name instanceof ConsoleRefusal) return name;
      const wanted = {
        name,
        objective: body.objective,
        judgeModelId: body.judge_model ?? null,
        modelIds: body.models,
        prompts: body.prompts,
        maxTokens: body.max_tokens ?? null,
        budgetMicroUsd: readAmount(body.budget_usd),
      };
      const started = await optimize.start(session.orgId, wanted, by);
      return started.kind === "started" ? shownSearch(started.search) : refusedSearch(started);
    },

    "GET /api/console/optimize/:search_id": async ({ session, params }) => {
      const search = await optimize.find(session.orgId, params.search_id);
      return search === undefined ? notFound("search") : shownSearch(search);
    },

    "POST /api/console/optimize/:search_id/stop": async ({ session, params, by }) => {
      const search = await optimize.stop(session.orgId, params.search_id, by);
      return search === undefined ? notFound("search") : shownSearch(search);
    },
  };
}

function refusedSearch({ code, field, message }: OptimizeRefusal): ConsoleRefusal {
  switch (code) {
    case "invalid_request":
      return field === undefined
        ? new ConsoleRefusal({ status: 400, code, message })
        : invalidField(field, message);
    case "conflict":
      return conflict(message);
    case "unavailable":
      return new ConsoleRefusal({ status: 503, code: "gateway_error", message });
    default:
      return unreachable(code);
  }
}

/** A search without its key, which is never shown. */
export function shownSearch(search: FoundSearch): OptimizeSearch {
  return {
    search_id: search.searchId,
    name: search.name,
    objective: search.objective,
    judge_model: search.judgeModelId,
    models: [...search.modelIds],
    prompts: search.prompts,
    budget_usd: formatUsd(search.budgetMicroUsd),
    spent_usd: formatUsd(search.spentMicroUsd),
    state: search.state,
    message: search.message,
    created_at: instant(search.createdAtMs),
    ended_at: instantOrNull(search.endedAtMs),
    calls_done: search.callsDone,
    calls_planned: search.callsPlanned,
    results: search.results.map(shownResult),
  };
}

function shownResult(result: FoundResult): OptimizeResult {
  const each = result.costPerCallMicroUsd;
  return {
    model: result.modelId,
    calls: result.calls,
    failed: result.failed,
    cost_usd: formatUsd(result.costMicroUsd),
    cost_per_call_usd: each === null ? null : formatUsd(each),
    ttft_p50_ms: result.firstByteP50Ms,
    win_rate: result.winRate,
    rank: result.rank,
  };
}
