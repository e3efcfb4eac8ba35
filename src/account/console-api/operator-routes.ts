import { CreditFault } from "../../ledger/index.ts";
import {
  formatUsd,
  parseKeyId,
  parseRequestId,
  parseUsd,
  accountsIn,
  findAction,
  type RecordedChange,
  instant,
  instantOrNull,
  usdOrNull,
} from "../../kernel/index.ts";
import type {
  AbuseRestrictionRecord,
  DeskFigures,
  ListedOrg,
  RulesStore,
} from "../../gateway/index.ts";
import { shownLine, shownPurchase } from "./billing-routes.ts";
import type { ConsoleDeps, OperationDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField, noSuch, refTaken } from "./console-refusal.ts";
import type {
  OperatorContract,
  OperatorOrgPage,
  OperatorChange,
  OperatorLimit,
  OperatorListing,
  OperatorOrg,
  OperatorRestriction,
  WaitingPurchase,
} from "./contract.ts";
import type { settlementRoutes } from "./contract/operator-settlement.ts";
import type { operatorRoutes } from "./contract/operator.ts";
import type { Handlers } from "./handler.ts";
import { readOperatorHealth } from "./operator-health.ts";
import { settlementHandlers } from "./operator-settlement-routes.ts";
import { KeptRead } from "./kept-read.ts";
import type { ReportGates } from "./report-gates.ts";
import { shownDetail } from "./usage-routes.ts";
import type { WaitingPurchase as StoredPurchase } from "../billing/purchase-store.ts";
import type { Deployment } from "../../catalog/index.ts";

type Part<P extends string> = Handlers<Extract<keyof typeof operatorRoutes, `${string}${P}`>>;

const PAGE_ORGS = 50;
const PAGE_LINES = 20;
const WAITING_MAX = 200;

/** The operator's views of all organizations, and the actions: the same as by commands. */
export function operatorHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof operatorRoutes | keyof typeof settlementRoutes> {
  return {
    ...deskReads(deps, gates),
    "GET /api/operator/health": ({ session }) =>
      gates.reads.run(session.orgId, () => readOperatorHealth(deps)),
    ...organizationHandlers(deps, gates),
    "GET /api/operator/organizations/:org_id": ({ session, params }) =>
      gates.reads.run(session.orgId, async () => {
        const org = await deps.operator.orgs.find(params.org_id);
        return org === undefined ? noSuch("organization") : await orgPage(deps, org);
      }),
    ...marketReads(deps, gates),
    ...settlementHandlers(deps, gates),
  };
}

/** The actions of operators that commands offer too. */
export function organizationHandlers(
  deps: OperationDeps,
  gates: ReportGates,
): Part<"organizations"> & Part<"restrictions"> & Changes {
  const { operator } = deps;
  return {
    ...organizationChanges(deps),

    "GET /api/operator/organizations": ({ session, query }) =>
      gates.reads.run(session.orgId, async () => {
        const { q = "", cursor } = query;
        const after = cursor === undefined ? {} : { after: cursor };
        const found = await operator.orgs.page({ search: q, ...after, limit: PAGE_ORGS + 1 });
        const data = found.slice(0, PAGE_ORGS).map(shownOrg);
        const last = found.length > PAGE_ORGS ? data.at(-1) : undefined;
        return { data, next_cursor: last?.org_id ?? null };
      }),

    "GET /api/operator/restrictions": ({ session, query }) =>
      gates.reads.run(session.orgId, async () => {
        const { org_id: id, past } = query;
        const org = id === undefined ? undefined : await operator.orgs.find(id);
        if (id !== undefined && org === undefined) return noSuch("organization");
        const found = await deps.abuseRestrictions.list({
          ...(org !== undefined && { orgId: org.orgId }),
          isWithPast: past === "yes",
        });
        return { data: found.map(shownRestriction) };
      }),
  };
}

type Desk = Part<"/desk"> & Part<"/look-up"> & Part<"/changes"> & Part<"/:request_id">;

/** How business goes, and whose a thing is. */
function deskReads(deps: ConsoleDeps, gates: ReportGates): Desk {
  const { operator, reports, team, clock } = deps;
  // Every open page asks again and again.
  const desk = new KeptRead(() => operator.desk.read(), clock, DESK_KEPT_MS);
  return {
    "GET /api/operator/desk": ({ session }) =>
      gates.reads.run(session.orgId, async () => {
        const { days, orgs, providers, outOfCredit, empty, untilMs } = await desk.get();
        return {
          days: days.map(({ day, ...of }) => ({ day, ...shownFigures(of) })),
          organizations: orgs.map(({ orgId, name, ...of }) => {
            return { org_id: orgId, name, ...shownFigures(of) };
          }),
          providers: providers.map(({ providerId, ...of }) => ({ provider: providerId, ...of })),
          out_of_credit: outOfCredit,
          empty: empty.map(({ orgId, name, balanceMicroUsd: balance }) => {
            return { org_id: orgId, name, balance_usd: formatUsd(balance) };
          }),
          until: instantOrNull(untilMs),
        };
      }),

    "GET /api/operator/look-up": ({ session, query }) =>
      gates.reads.run(session.orgId, async () => ({
        data: (await operator.desk.lookUp(query.q)).map(({ orgId, orgName, ...found }) => {
          return { ...found, org_id: orgId, org_name: orgName };
        }),
      })),

    "GET /api/operator/organizations/:org_id/requests/:request_id": ({ session, params }) =>
      gates.reads.run(session.orgId, async () => {
        const org = await operator.orgs.find(params.org_id);
        const requestId = parseRequestId(params.request_id);
        if (org === undefined || requestId === undefined) return noSuch("request");
        const found = await reports.request(org.orgId, requestId);
        return found === undefined ? noSuch("request") : shownDetail(found);
      }),

    "GET /api/operator/changes": ({ session, query }) =>
      gates.reads.run(session.orgId, async () => {
        const before = query.before === undefined ? {} : { before: Number(query.before) };
        const found = await operator.changes.list({ ...before, limit: PAGE_ORGS + 1 });
        const page = found.slice(0, PAGE_ORGS);
        const emails = await team.store.emails(accountsIn(page));
        const last = found.length > PAGE_ORGS ? page.at(-1) : undefined;
        return {
          data: page.map((each) => shownOperatorChange(each, emails)),
          next_before: last === undefined ? null : String(last.position),
        };
      }),
  };
}

const DESK_KEPT_MS = 30_000;

function shownFigures(of: DeskFigures): {
  requests: number;
  failed_requests: number;
  spend_usd: string;
  margin_usd: string;
} {
  return {
    requests: of.requests,
    failed_requests: of.failedRequests,
    spend_usd: formatUsd(of.debitMicroUsd),
    margin_usd: formatUsd(of.marginMicroUsd),
  };
}

async function orgPage(deps: ConsoleDeps, org: ListedOrg): Promise<OperatorOrgPage> {
  const { reports, billing, rules, abuseRestrictions, operator, team, accounts } = deps;
  const { orgId } = org;
  const [usage, keys, members, wallet, purchases, limits, restrictions, changes] =
    await Promise.all([
      operator.desk.usageOf(orgId),
      accounts.listOwnKeys(orgId),
      team.store.members(orgId),
      reports.walletLines(orgId, { limit: PAGE_LINES }),
      billing.listPurchases(orgId),
      rules.listLimits(orgId),
      abuseRestrictions.list({ orgId, isWithPast: true }),
      operator.changes.list({ orgId, limit: PAGE_LINES }),
    ]);
  const emails = await team.store.emails(accountsIn(changes));
  return {
    org: shownOrg(org),
    usage: usage.map(({ modelId, ...of }) => ({ model: modelId, ...shownFigures(of) })),
    keys: keys.map((key) => ({
      key_id: key.keyId,
      name: key.name,
      label: key.label,
      created_at: instant(key.createdAtMs),
      disabled_at: instantOrNull(key.disabledAtMs),
    })),
    members: members.map(({ email, role, lastSeenAtMs }) => {
      return { email, role, last_seen_at: instantOrNull(lastSeenAtMs) };
    }),
    wallet: wallet.lines.map(shownLine),
    purchases: purchases.slice(0, PAGE_LINES).map(shownPurchase),
    limits: limits.map(shownOperatorLimit),
    restrictions: restrictions.slice(0, PAGE_LINES).map(shownRestriction),
    changes: changes.map((each) => shownOperatorChange(each, emails)),
  };
}

type Changes = Part<"/grants"> & Part<"/contract"> & Part<"/lift">;

function organizationChanges(deps: OperationDeps): Changes {
  const { operator, rules, abuseRestrictions } = deps;
  return {
    "POST /api/operator/organizations/:org_id/grants": async ({ params, body, by }) => {
      const amountMicroUsd = parseUsd(body.amount_usd);
      if (amountMicroUsd === undefined || amountMicroUsd <= 0n) {
        return invalidField("amount_usd", "amount_usd must be dollars above 0 such as 25.00");
      }
      const org = await operator.orgs.find(params.org_id);
      if (org === undefined) return noSuch("organization");
      const { ref, is_trial: isTrial = false } = body;
      try {
        const grant = { orgId: org.orgId, amountMicroUsd, ref: ref.trim(), isTrial };
        if (grant.ref === "") return invalidField("ref", "ref must not be blank");
        const { created, balanceMicroUsd } = await operator.credit.grant(grant, by);
        return { is_new: created, balance_usd: formatUsd(balanceMicroUsd) };
      } catch (fault) {
        if (fault instanceof CreditFault && fault.kind === "ref_taken") return refTaken(fault);
        throw fault;
      }
    },

    "POST /api/operator/organizations/:org_id/contract": async ({ params, body, by }) => {
      const asked = readContract(body);
      if (asked instanceof ConsoleRefusal) return asked;
      const org = await operator.orgs.find(params.org_id);
      if (org === undefined) return noSuch("organization");
      const stored = await rules.changeLimit(org.orgId, asked.target, asked.change, by);
      return stored === undefined ? noSuch("key") : shownOperatorLimit(stored);
    },

    "POST /api/operator/organizations/:org_id/lift": async ({ params, body, by }) => {
      const org = await operator.orgs.find(params.org_id);
      if (org === undefined) return noSuch("organization");
      const why = body.reason.trim();
      if (why === "") return invalidField("reason", "reason must not be blank");
      const lifted = await abuseRestrictions.lift(org.orgId, body.family, by, why);
      return { lifted: lifted.map(shownRestriction) };
    },
  };
}

interface AskedContract {
  readonly target: Parameters<ConsoleDeps["rules"]["changeLimit"]>[1];
  readonly change: Parameters<ConsoleDeps["rules"]["changeLimit"]>[2];
}

function readContract(body: OperatorContract): AskedContract | ConsoleRefusal {
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
  const change = {
    ...(rpm === undefined ? {} : { requestsPerMinute: rpm }),
    ...(tpm === undefined ? {} : { tokensPerMinute: tpm }),
    ...(concurrency === undefined ? {} : { concurrent: concurrency }),
  };
  if (Object.keys(change).length === 0) {
    return invalidField("rpm", "set at least one of rpm, tpm and concurrency");
  }
  const of = {
    ...(keyId === undefined ? {} : { keyId }),
    ...(model === undefined ? {} : { modelId: model }),
  };
  return { target: { source: "contract", scope, ...of }, change };
}

function marketReads(deps: ConsoleDeps, gates: ReportGates): Part<"purchases"> & Part<"listings"> {
  const { operator, catalog, clock } = deps;
  return {
    "GET /api/operator/purchases": ({ session }) =>
      gates.reads.run(session.orgId, async () => {
        const found = await operator.purchases.listWaiting(WAITING_MAX);
        return { data: found.map(shownWaiting) };
      }),

    "GET /api/operator/listings": async () => {
      const nowMs = clock.monotonicMs();
      return { data: catalog.current.deployments.map((each) => shownListing(deps, each, nowMs)) };
    },
  };
}

function shownOrg(org: ListedOrg): OperatorOrg {
  return {
    org_id: org.orgId,
    name: org.name,
    email: org.email,
    created_at: instant(org.createdAtMs),
    balance_usd: formatUsd(org.balanceMicroUsd),
    held_usd: formatUsd(org.heldMicroUsd),
    cap_usd: usdOrNull(org.capMicroUsd),
    spent_month_usd: formatUsd(org.spentMonthMicroUsd),
    credit: org.hasPurchase
      ? "bought"
      : org.hasBought
        ? "granted"
        : org.isFunded
          ? "trial"
          : "none",
    restrictions: org.restrictions,
  };
}

function shownRestriction(hold: AbuseRestrictionRecord): OperatorRestriction {
  return {
    org_id: hold.orgId,
    family: hold.family,
    state: hold.state,
    reason: hold.reason,
    since: instant(hold.createdAtMs),
    until: instantOrNull(hold.untilMs ?? null),
    lifted_at: instantOrNull(hold.liftedAtMs),
    in_effect: hold.isInEffect,
  };
}

type StoredLimit = Awaited<ReturnType<RulesStore["listLimits"]>>[number];

function shownOperatorLimit(limit: StoredLimit): OperatorLimit {
  return {
    source: limit.source,
    scope: limit.scope,
    key_id: limit.keyId ?? null,
    model: limit.modelId ?? null,
    rpm: limit.requestsPerMinute ?? null,
    tpm: limit.tokensPerMinute ?? null,
    concurrency: limit.concurrent ?? null,
  };
}

function shownOperatorChange(
  change: RecordedChange,
  emails: ReadonlyMap<string, string>,
): OperatorChange {
  const { position, atMs, by, action, target } = change;
  return {
    position,
    at: instant(atMs),
    actor_kind: by.kind,
    actor_id: by.id,
    actor_email: emails.get(by.id) ?? null,
    says: findAction(action)?.says ?? action,
    org_id: change.orgId,
    target,
    target_email: emails.get(target) ?? null,
  };
}

function shownWaiting(purchase: StoredPurchase): WaitingPurchase {
  return {
    purchase_id: purchase.purchaseId,
    org_id: purchase.orgId,
    amount_usd: formatUsd(purchase.amountMicroUsd),
    status: purchase.state,
    created_at: instant(purchase.createdAtMs),
    is_test_money: purchase.isTestMoney,
    is_granted: purchase.isGrantedByHand,
  };
}

const CIRCUITS = { yes: "closed", probe: "probing", no: "open" } as const;

export function shownListing(
  { health, verification, operator }: ConsoleDeps,
  deployment: Deployment,
  nowMs: number,
): OperatorListing {
  const { pools } = operator;
  const { id, pool } = deployment;
  const { state, verdict, suspect } = verification.of(deployment);
  return {
    listing_id: id,
    provider: deployment.providerId,
    provider_name: deployment.providerName,
    model: deployment.modelId,
    not_routed: deployment.notReady ?? null,
    circuit: CIRCUITS[health.mayTry(id, nowMs)],
    pool: pool.id,
    pool_cooldown_seconds: Math.ceil(pools.cooldownMs(pool.id, nowMs) / 1000),
    pool_usable_percent: pools.usablePercent(pool.id, nowMs),
    verdict: state,
    checked_at: instantOrNull(verdict?.checkedAtMs ?? null),
    suspect_since: instantOrNull(suspect?.sinceMs ?? null),
  };
}
