import { claimRefusal } from "../call/limit-refusals.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import { printJson } from "../../kernel/index.ts";
import { unknownModel } from "../routing/plan-route.ts";
import { readLimitUse, type LimitDeps } from "./limit-use.ts";
import { presentLimits } from "./show-limits.ts";

/**
 * `GET /v1/limits?model=`: the limits of the calling key now, with or without one model. Uses up no
 * limit. It shows a change of limits at once, while requests take seconds to see it.
 */
export async function serveLimits(
  deps: LimitDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const { orgId, keyId, models } = exchange.principal;
  const modelId = query.get("model") ?? undefined;
  const use = await readLimitUse(deps, exchange.principal, modelId);
  if (modelId !== undefined && !use.isServed) {
    return exchange.refuse(unknownModel(modelId, models));
  }
  if (use.scopes.some(({ usage }) => usage === undefined)) {
    return exchange.refuse(claimRefusal({ kind: "unavailable" }, deps.clock.nowMs()));
  }
  const [org, key, periods] = await Promise.all([
    deps.records.monthSpend(orgId),
    deps.records.monthSpend(orgId, keyId),
    deps.records.periodSpend(orgId, keyId),
  ]);
  const limits = presentLimits({ modelId, use, spend: { org, key, periods } });
  exchange.answer("application/json", {}, Buffer.from(printJson(limits)));
}
