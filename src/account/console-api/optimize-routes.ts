import { unreachable } from "../../kernel/index.ts";
import type { FedEvents } from "../optimize/answer-feed.ts";
import type {
  OptimizeRefusal,
  OptimizeSearch as FoundSearch,
} from "../optimize/postgres-optimize-store.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import {
  conflict,
  ConsoleRefusal,
  invalidField,
  notFound,
  unavailable,
} from "./console-refusal.ts";
import type { BodyOf } from "./contract.ts";
import {
  OptimizeAnswer,
  type OptimizeAnswers,
  OptimizeEstimate,
  OptimizeResult,
  type optimizeRoutes,
  OptimizeSearch,
  OptimizeVerdict,
} from "./contract/optimize.ts";
import type { Handlers } from "./handler.ts";
import { playgroundPrincipal } from "./playground-routes.ts";
import { readAmount, readName } from "./read-values.ts";
import { present } from "./present.ts";

export function optimizeHandlers(
  deps: Pick<ConsoleDeps, "optimize" | "accounts" | "rules">,
): Handlers<keyof typeof optimizeRoutes> {
  const { optimize } = deps;
  return {
    "GET /api/console/optimize": async ({ session }) => ({
      data: (await optimize.list(session.orgId)).map(presentSearch),
    }),

    "POST /api/console/optimize": async ({ session, body, by }) => {
      const name = readName(body.name);
      if (name instanceof ConsoleRefusal) return name;
      const { objective, budget_usd: budget } = body;
      const asked = { name, objective, budgetMicroUsd: readAmount(budget) };
      const wanted = { ...asked, ...readCalls(body) };
      const started = await optimize.start(session.orgId, wanted, by);
      return started.kind === "started" ? presentSearch(started.search) : toSearchRefusal(started);
    },

    "POST /api/console/optimize-estimate": async ({ session, body }) => {
      // The search's own key does not exist yet; the Playground key is routed by the same rules.
      const principal = await playgroundPrincipal(deps, session.orgId);
      const made = await optimize.estimate(principal, readCalls(body));
      return made.kind === "estimated"
        ? present(OptimizeEstimate, made.estimate)
        : toSearchRefusal(made);
    },

    "GET /api/console/optimize/:search_id": async ({ session, params }) => {
      const search = await optimize.find(session.orgId, params.search_id);
      return search === undefined ? notFound("search") : presentSearch(search);
    },

    "GET /api/console/optimize/:search_id/answers": async ({ session, params, query, by }) => {
      const { search_id: searchId } = params;
      if ((await optimize.find(session.orgId, searchId)) === undefined) return notFound("search");
      const after = query.after ?? 0;
      return presentAnswers(optimize.answers(session.orgId, searchId, { after, by }), after);
    },

    "POST /api/console/optimize/:search_id/stop": async ({ session, params, by }) => {
      const search = await optimize.stop(session.orgId, params.search_id, by);
      return search === undefined ? notFound("search") : presentSearch(search);
    },
  };
}

function readCalls(body: BodyOf<"POST /api/console/optimize-estimate">) {
  const { models: modelIds, prompts, judge_model: judge, max_tokens: most } = body;
  return { modelIds, prompts, judgeModelId: judge ?? null, maxTokens: most ?? null };
}

function toSearchRefusal({ code, field, message }: OptimizeRefusal): ConsoleRefusal {
  switch (code) {
    case "invalid_request":
      return invalidField(field, message);
    case "conflict":
      return conflict(message);
    case "unavailable":
      return unavailable(message);
    default:
      return unreachable(code);
  }
}

/** Leaves out the search's key, which is never shown. */
export function presentSearch(search: FoundSearch): OptimizeSearch {
  return present(OptimizeSearch, search, {
    models: [...search.modelIds],
    results: search.results.map((each) =>
      present(OptimizeResult, each, { ttft_p50_ms: each.firstByteP50Ms }),
    ),
  });
}

function presentAnswers(fed: FedEvents | undefined, after: number): OptimizeAnswers {
  const { events, next, lost, hasMore } = fed ?? NOTHING_HELD;
  return {
    held: fed !== undefined,
    answers: events.flatMap((event) =>
      event.kind === "answer"
        ? present(OptimizeAnswer, event, {
            prompt: event.promptAt,
            ttft_ms: event.firstByteMs,
          })
        : [],
    ),
    verdicts: events.flatMap((event) =>
      event.kind === "verdict" ? present(OptimizeVerdict, event, { prompt: event.promptAt }) : [],
    ),
    next: fed === undefined ? after : next,
    lost,
    has_more: hasMore,
  };
}

const NOTHING_HELD: FedEvents = { events: [], next: 0, lost: 0, hasMore: false };
