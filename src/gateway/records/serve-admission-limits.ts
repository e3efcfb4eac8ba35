import { byCaller, presentKeyId, printJson, type Refusal } from "../../kernel/index.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import { claimKeySetting } from "../call/count-tokens.ts";
import { claimRefusal } from "../call/limit-refusals.ts";
import { refuseCall } from "../call/refuse.ts";
import { unknownModel } from "../routing/plan-route.ts";
import { NO_TOKENS } from "../limits/limit-store.ts";
import {
  type LimitRequest,
  makeLimitChange,
  planLimitChange,
  readLimitRequest,
} from "./change-limit.ts";
import { type LimitDeps, readLimitUse } from "./limit-use.ts";
import { presentChangedLimit, presentLimits } from "./show-limits.ts";

/**
 * Answers `GET /v1/limits?model=`. The request counts against no limit. A changed limit is shown at
 * once, although calls may obey it only seconds later.
 */
export async function serveLimits(
  deps: LimitDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const { orgId, keyId, models } = exchange.principal;
  const modelId = query.get("model") ?? undefined;
  const use = await readLimitUse(deps, exchange.principal, modelId);
  if (modelId !== undefined && !use.isServed) return exchange.refuse(unknownModel(modelId, models));
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

/**
 * Answers `POST /api/admission-limits` with a virtual key. The request is free. If the change is
 * made, it counts in separate windows for setting changes; they are claimed before the first query,
 * so that they bound the queries too.
 */
export async function serveAdmissionLimits(
  deps: LimitDeps,
  exchange: ClientExchange,
): Promise<void> {
  const refuse = (value: Refusal): void => refuseCall(deps, exchange, { refusal: value });
  const read = readLimitRequest(exchange.body);
  if (!read.ok) return refuse(read.refusal);
  const claiming = await claimKeySetting(deps, exchange.principal);
  if (!claiming.ok) return refuse(claiming.refusal);
  const { claimed } = claiming;
  let isMade = false;
  try {
    const made = await changeByKey(deps, exchange, read.request);
    if (!made.ok) return refuse(made.refusal);
    isMade = true;
    const { remainingRequests } = claimed;
    const { scopes } = await readLimitUse(deps, exchange.principal, read.request.modelId);
    // This route stores limits of no other key, so a stored key id is that of the calling key.
    const shownKeyId = made.stored.keyId && presentKeyId(exchange.principal);
    const body = printJson(presentChangedLimit({ ...made.stored, shownKeyId }, scopes));
    exchange.answer("application/json", { remainingRequests }, Buffer.from(body));
  } finally {
    if (isMade) claimed.release(NO_TOKENS);
    else claimed.undo();
  }
}

async function changeByKey(
  deps: LimitDeps,
  { principal, requestId, clientAddress }: ClientExchange,
  request: LimitRequest,
): ReturnType<typeof makeLimitChange> {
  const { orgId, keyId } = principal;
  const planned = await planLimitChange(deps, { kind: "key", orgId, keyId }, request);
  if (!planned.ok) return planned;
  const by = byCaller({ kind: "key", id: presentKeyId(principal), requestId, clientAddress });
  return await makeLimitChange(deps.rules, planned, by);
}
