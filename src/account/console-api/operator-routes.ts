import { CreditFault } from "../../ledger/index.ts";
import {
  accountsIn,
  defined,
  formatUsd,
  instant,
  instantOrNull,
  parseKeyId,
  parseUsd,
} from "../../kernel/index.ts";
import type { AbuseRestrictionRecord, ListedOrg, RulesStore } from "../../gateway/index.ts";
import { presentLine, presentPurchase } from "./billing-routes.ts";
import type { ConsoleDeps, OperationDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField, noSuch, refTaken } from "./console-refusal.ts";
import type { settlementRoutes } from "./contract/operator-settlement.ts";
import {
  type OperatorContract,
  OperatorKey,
  OperatorLimit,
  OperatorListing,
  OperatorMember,
  OperatorOrg,
  type OperatorOrgPage,
  OperatorRestriction,
  type operatorRoutes,
  WaitingPurchase,
} from "./contract/operator.ts";
import type { CommandedName, Handlers } from "./handler.ts";
import { showLimits } from "./limits-routes.ts";
import { deskHandlers, presentDeskFigures, presentOperatorChange } from "./operator-desk-routes.ts";
import { settlementHandlers } from "./operator-settlement-routes.ts";
import type { Deployment } from "../../catalog/index.ts";
import { present } from "./present.ts";
import { isExpired } from "./present-key.ts";
import { readRef } from "./read-values.ts";

const PAGE_ORGS = 50;
const PAGE_LINES = 20;
const WAITING_MAX = 200;

export function operatorHandlers(
  deps: ConsoleDeps,
): Handlers<keyof typeof operatorRoutes | keyof typeof settlementRoutes> {
  const { orgs, purchases, catalog, clock } = deps;
  return {
    ...deskHandlers(deps),
    ...organizationHandlers(deps),
    "GET /api/operator/organizations/:org_id": async ({ params }) => {
      const org = await orgs.find(params.org_id);
      return org === undefined ? noSuch("organization") : await orgPage(deps, org);
    },
    "GET /api/operator/purchases": async () => {
      const found = await purchases.listWaiting(WAITING_MAX);
      const names = await orgs.names(found.map(({ orgId }) => orgId));
      const data = found.map((each) => {
        const { orgId, state: status, isGrantedByHand: is_granted } = each;
        const org_name = names.get(orgId) ?? orgId;
        return present(WaitingPurchase, each, { org_name, status, is_granted });
      });
      return { data };
    },
    "GET /api/operator/listings": async () => {
      const nowMs = clock.monotonicMs();
      return { data: catalog.current.deployments.map((each) => presentListing(deps, each, nowMs)) };
    },
    ...settlementHandlers(deps),
  };
}

export function organizationHandlers(
  deps: OperationDeps,
): Handlers<Extract<keyof typeof operatorRoutes, CommandedName>> {
  const { orgs, credit, rules, abuseRestrictions } = deps;
  return {
    "GET /api/operator/organizations": async ({ query }) => {
      const { q = "", cursor } = query;
      const asked = defined({ search: q, after: cursor, limit: PAGE_ORGS + 1 });
      const found = await orgs.page(asked);
      const data = found.slice(0, PAGE_ORGS).map(presentOrg);
      const last = found.length > PAGE_ORGS ? data.at(-1) : undefined;
      return { data, next_cursor: last?.org_id ?? null };
    },
    "GET /api/operator/restrictions": async ({ query }) => {
      const { org_id: id, past } = query;
      const org = id === undefined ? undefined : await orgs.find(id);
      if (id !== undefined && org === undefined) return noSuch("organization");
      const asked = defined({ orgId: org?.orgId, isWithPast: past === "yes" });
      const found = await abuseRestrictions.list(asked);
      const names = await orgs.names(found.map(({ orgId }) => orgId));
      return { data: found.map((each) => presentRestriction(each, names.get(each.orgId))) };
    },
    "POST /api/operator/organizations/:org_id/grants": async ({ params, body, by }) => {
      const amountMicroUsd = parseUsd(body.amount_usd);
      if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
        return invalidField("amount_usd", "amount_usd must be dollars above 0 such as 25.00");
      }
      const org = await orgs.find(params.org_id);
      if (org === undefined) return noSuch("organization");
      const ref = readRef(body.ref);
      if (ref instanceof ConsoleRefusal) return ref;
      try {
        const grant = { orgId: org.orgId, amountMicroUsd, ref, isTrial: body.is_trial ?? false };
        const { created, balanceMicroUsd } = await credit.grant(grant, by);
        return { is_new: created, balance_usd: formatUsd(balanceMicroUsd) };
      } catch (fault) {
        if (fault instanceof CreditFault && fault.kind === "ref_taken") return refTaken(fault);
        throw fault;
      }
    },

    "POST /api/operator/organizations/:org_id/contract": async ({ params, body, by }) => {
      const asked = readContract(body);
      if (asked instanceof ConsoleRefusal) return asked;
      const org = await orgs.find(params.org_id);
      if (org === undefined) return noSuch("organization");
      const stored = await rules.changeLimit(org.orgId, asked.target, asked.change, by);
      return stored === undefined ? noSuch("key") : presentOperatorLimit(stored);
    },

    "POST /api/operator/organizations/:org_id/lift": async ({ params, body, by }) => {
      const org = await orgs.find(params.org_id);
      if (org === undefined) return noSuch("organization");
      const why = body.reason.trim();
      if (why === "") return invalidField("reason", "reason must not be blank");
      const lifted = await abuseRestrictions.lift(org.orgId, body.family, by, why);
      return { lifted: lifted.map((each) => presentRestriction(each, org.name)) };
    },
  };
}

async function orgPage(deps: ConsoleDeps, org: ListedOrg): Promise<OperatorOrgPage> {
  const { reports, rules, abuseRestrictions, desk, team, accounts } = deps;
  const { orgId } = org;
  const [usage, keys, members, wallet, purchases, limits, restrictions, changes] =
    await Promise.all([
      desk.usageOf(orgId),
      accounts.listOwnKeys(orgId),
      team.store.members(orgId),
      reports.walletLines(orgId, { limit: PAGE_LINES }),
      deps.purchases.list(orgId),
      rules.listLimits(orgId),
      abuseRestrictions.list({ orgId, isWithPast: true }),
      deps.changes.list({ orgId, limit: PAGE_LINES }),
    ]);
  const emails = await team.store.emails(accountsIn(changes));
  return {
    org: presentOrg(org),
    usage: usage.map(({ modelId, ...of }) => ({ model: modelId, ...presentDeskFigures(of) })),
    keys: keys.map((key) =>
      present(OperatorKey, key, { is_expired: isExpired(key, deps.clock.nowMs()) }),
    ),
    members: members.map((member) => present(OperatorMember, member)),
    wallet: wallet.lines.map(presentLine),
    purchases: purchases.slice(0, PAGE_LINES).map(presentPurchase),
    limits: limits.map(presentOperatorLimit),
    restrictions: restrictions
      .slice(0, PAGE_LINES)
      .map((each) => presentRestriction(each, org.name)),
    changes: changes.map((each) => presentOperatorChange(each, emails)),
  };
}

function readContract(body: OperatorContract) {
  const { scope, key_id: key, model, rpm, tpm, concurrency } = body;
  const keyId = key === undefined ? undefined : parseKeyId(key);
  if (key !== undefined && keyId === undefined) return noSuch("key");
  if ((scope === "model") !== (model !== undefined)) {
    return invalidField("model", "name a model for the scope model only");
  }
  if (model?.trim() === "") return invalidField("model", "model must not be blank");
  if (scope === "org" && keyId !== undefined) {
    return invalidField(
      "key_id",
      "a contract of the whole organization cannot name a key; remove the key, or choose the scope key",
    );
  }
  const change = defined({
    requestsPerMinute: rpm,
    tokensPerMinute: tpm,
    concurrent: concurrency,
  });
  if (Object.keys(change).length === 0) {
    return invalidField("rpm", "set at least one of rpm, tpm and concurrency");
  }
  const of = defined({ keyId, modelId: model });
  return { target: { source: "contract" as const, scope, ...of }, change };
}

function presentOrg(org: ListedOrg): OperatorOrg {
  const bought = org.hasPurchase ? "bought" : "granted";
  const credit = org.hasBought ? bought : org.isFunded ? "trial" : "none";
  return present(OperatorOrg, org, { credit });
}

function presentRestriction(
  hold: AbuseRestrictionRecord,
  org_name: string = hold.orgId,
): OperatorRestriction {
  const [since, in_effect] = [instant(hold.createdAtMs), hold.isInEffect];
  return present(OperatorRestriction, hold, { org_name, since, in_effect });
}

type StoredLimit = Awaited<ReturnType<RulesStore["listLimits"]>>[number];

export function presentOperatorLimit(limit: StoredLimit): OperatorLimit {
  return present(OperatorLimit, limit, showLimits(limit));
}

const CIRCUITS = { yes: "closed", probe: "probing", no: "open" } as const;

export function presentListing(
  { health, verification, pools }: ConsoleDeps,
  deployment: Deployment,
  nowMs: number,
): OperatorListing {
  const { id, pool } = deployment;
  const { state, verdict, suspect } = verification.of(deployment);
  return present(OperatorListing, deployment, {
    listing_id: id,
    not_routed: deployment.notReady ?? null,
    circuit: CIRCUITS[health.mayTry(id, nowMs)],
    pool: pool.id,
    pool_cooldown_seconds: Math.ceil(pools.cooldownMs(pool.id, nowMs) / 1000),
    pool_usable_percent: pools.usablePercent(pool.id, nowMs),
    verdict: state,
    checked_at: instantOrNull(verdict?.checkedAtMs),
    suspect_since: instantOrNull(suspect?.sinceMs),
  });
}
