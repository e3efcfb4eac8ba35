import type { AbuseRestrictionRecord, OrgSummary } from "../../gateway/index.ts";
import type { SignedIn } from "../identity/identity.ts";
import type { Balance } from "../../ledger/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { Notice } from "./contract.ts";
import { knownOrg } from "./known-org.ts";
import { noticesOf } from "./notices.ts";

interface Noticed {
  readonly org: OrgSummary;
  readonly balance: Balance;
  readonly holds: readonly AbuseRestrictionRecord[];
  readonly notices: readonly Notice[];
}

/** The notices of an organization, and what they were made of that a session shows too. */
export async function readNotices(deps: ConsoleDeps, session: SignedIn): Promise<Noticed> {
  const { records, limitUse, clock } = deps;
  const { orgId } = session;
  const nowMs = clock.nowMs();
  const [org, balance, month, holds, facts, rules, topUpPause] = await Promise.all([
    knownOrg(deps, session),
    records.balance(orgId),
    records.monthSpend(orgId),
    deps.abuseRestrictions.list({ orgId, isWithPast: false }),
    records.noticeFacts(orgId, nowMs),
    deps.alerts.store.rules(orgId),
    deps.billing.topUpPause(orgId),
  ]);
  const notices = noticesOf({
    nowMs,
    isFunded: org.isFunded,
    unfundedRequestsPerMinute: limitUse.limitDefaults.unfundedRequestsPerMinute,
    balance,
    month,
    lowBelowMicroUsd: rules.balanceBelowMicroUsd,
    topUpPause,
    holds,
    facts,
    unservedModels: unservedModels(deps, facts.models),
  });
  return { org, balance, holds, notices };
}

/** Those whose deployments all have an open circuit: a request would be refused at once. */
function unservedModels(
  { catalog, health, clock }: ConsoleDeps,
  ids: readonly string[],
): readonly { readonly id: string; readonly name: string }[] {
  const nowMs = clock.monotonicMs();
  return ids.flatMap((id) => {
    const model = catalog.current.find(id);
    if (model === undefined || model.deployments.length === 0) return [];
    const isServed = model.deployments.some((each) => health.mayTry(each.id, nowMs) !== "no");
    return isServed ? [] : [{ id, name: model.displayName }];
  });
}
