import { claimRefusal } from "../call/admit.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import { printJson } from "../../kernel/index.ts";
import { unknownModel } from "../routing/plan-route.ts";
import { readLimitUse, type LimitDeps } from "./limit-use.ts";
import { shownLimits } from "./show-limits.ts";

/**
 * `GET /v1/limits?model=`: what the calling key may do now, with or without one model. Counts
 * nothing. Limits that were set a moment ago are in it, though requests know them only within
 * seconds.
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
  const limits = shownLimits({ modelId, use, spend: { org, key, periods } });
  exchange.answer("application/json", {}, Buffer.from(printJson(limits)));
}
