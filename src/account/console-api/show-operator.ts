import type { AbuseRestrictionRecord, ListedOrg, RulesStore } from "../../gateway/index.ts";
import type { WaitingPurchase as StoredPurchase } from "../billing/purchase-store.ts";
import type { Deployment } from "../../catalog/index.ts";
import {
  bySkuName,
  findAction,
  type RecordedChange,
  exactUsdOrNull,
  formatExactUsd,
  formatUsd,
  instant,
  instantOrNull,
  picoUsd,
  usdOrNull,
} from "../../kernel/index.ts";
import {
  type ClaimComparison,
  type ClosingOutcome,
  type ProviderBalance,
  type ProviderPeriod,
  type Reconciliation,
  type SettlementStatement,
  type SettlementSums,
  linesByModel,
} from "../../ledger/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type {
  OperatorChange,
  OperatorClosing,
  OperatorComparison,
  OperatorLimit,
  OperatorListing,
  OperatorOrg,
  OperatorPeriod,
  OperatorRestriction,
  OperatorSettlement,
  OperatorStatement,
  WaitingPurchase,
} from "./contract.ts";

export function shownOrg(org: ListedOrg): OperatorOrg {
  return {
    org_id: org.orgId,
    name: org.name,
    email: org.email,
    created_at: instant(org.createdAtMs),
    balance_usd: formatUsd(org.balanceMicroUsd),
    held_usd: formatUsd(org.heldMicroUsd),
    cap_usd: usdOrNull(org.capMicroUsd),
    credit: org.hasBought ? "bought" : org.isFunded ? "trial" : "none",
    restrictions: org.restrictions,
  };
}

export function shownRestriction(hold: AbuseRestrictionRecord): OperatorRestriction {
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

export function shownOperatorLimit(limit: StoredLimit): OperatorLimit {
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

export function shownOperatorChange(
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
    target,
    target_email: emails.get(target) ?? null,
  };
}

export function shownWaiting(purchase: StoredPurchase): WaitingPurchase {
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

export function shownPeriod(period: ProviderPeriod): OperatorPeriod {
  const { late, payment } = period;
  return {
    provider: period.providerId,
    start: instant(period.startMs),
    end: instant(period.endMs),
    mode: period.mode,
    interval: period.interval,
    state: payment === null ? "closed" : "paid",
    closed_at: instant(period.closedAtMs),
    ...shownSums(period.sums),
    late: { attempts: Number(late.attempts), cost_usd: formatExactUsd(late.costPicoUsd) },
    late_corrections: {
      attempts: Number(late.corrections),
      cost_usd: formatExactUsd(late.correctedPicoUsd),
    },
    carry_in_usd: formatExactUsd(period.carryInPicoUsd),
    carry_out_usd: formatExactUsd(period.carryOutPicoUsd),
    rounding_usd: formatUsd(period.roundingMicroUsd),
    payable_usd: formatUsd(period.payableMicroUsd),
    payment: payment && { ref: payment.ref, paid_at: instant(payment.paidAtMs) },
  };
}

function shownSums(sums: SettlementSums) {
  return {
    attempts: Number(sums.attempts),
    settled_attempts: Number(sums.settled),
    void_attempts: Number(sums.voids),
    tokens: bySkuName<bigint, number>(sums, Number),
    cost_usd: formatExactUsd(sums.costPicoUsd),
    cost_pico_usd: sums.costPicoUsd.toString(),
    debit_usd: formatUsd(sums.debitMicroUsd),
    overrun_usd: formatUsd(sums.overrunMicroUsd),
    margin_usd: formatUsd(sums.marginMicroUsd),
    unknown: { attempts: Number(sums.unknowns), charged_usd: formatUsd(sums.unknownMicroUsd) },
    corrections: {
      attempts: Number(sums.corrections),
      cost_usd: formatExactUsd(sums.correctedPicoUsd),
      resolved_usd: formatUsd(sums.resolvedMicroUsd),
    },
    lost: { attempts: Number(sums.lostClaims), cost_usd: formatExactUsd(sums.lostPicoUsd) },
  };
}

export function shownSettlement(
  balances: readonly ProviderBalance[],
  periods: readonly ProviderPeriod[],
): OperatorSettlement {
  return {
    balances: balances.map((balance) => ({
      provider: balance.providerId,
      accrued_usd: formatUsd(balance.accruedMicroUsd),
      payable_usd: formatUsd(balance.payableMicroUsd),
      deposit_usd: formatUsd(balance.depositMicroUsd),
      unknown_usd: formatUsd(balance.unknownMicroUsd),
      margin_usd: formatUsd(balance.marginMicroUsd),
    })),
    periods: periods.map(shownPeriod),
  };
}

export function shownClosing({ closed, throughMs, unlisted }: ClosingOutcome): OperatorClosing {
  return {
    closed: closed.slice(0, CLOSED_SHOWN).map(({ period }) => shownPeriod(period)),
    closed_count: closed.length,
    settled_through: instant(throughMs),
    unlisted: unlisted.map((each) => ({ provider: each.providerId, terms_from: each.termsFrom })),
  };
}

const CLOSED_SHOWN = 200;

export function shownComparison(found: Reconciliation): OperatorComparison {
  return {
    is_equal: found.isEqual,
    ...shownDifference(found),
    their_lines_usd: exactUsdOrNull(found.theirLinesPicoUsd),
    first_differences: found.firstDiffering.map(({ kind, of, id, theirPicoUsd, ourPicoUsd }) => ({
      kind,
      of,
      id,
      their_usd: exactUsdOrNull(theirPicoUsd),
      our_usd: exactUsdOrNull(ourPicoUsd),
    })),
  };
}

function shownDifference({ theirPicoUsd, ourPicoUsd, lines }: ClaimComparison) {
  return {
    their_usd: formatExactUsd(theirPicoUsd),
    our_usd: formatExactUsd(ourPicoUsd),
    difference_usd: formatExactUsd(picoUsd(theirPicoUsd - ourPicoUsd)),
    lines: lines && {
      compared: lines.compared,
      differing: lines.differing,
      only_theirs: lines.onlyTheirs,
      only_ours: lines.onlyOurs,
      unknown_claimed: lines.unknownClaimed,
    },
  };
}

export function shownStatement({ period, lines, claims }: SettlementStatement): OperatorStatement {
  return {
    period: shownPeriod(period),
    models: linesByModel(lines).map(({ modelId, upstreamModelId, sums }) => ({
      model: modelId,
      upstream_model: upstreamModelId,
      ...shownSums(sums),
    })),
    reconciliations: claims.map((claim) => ({
      recorded_at: instant(claim.recordedAtMs),
      ...shownDifference(claim),
      differing_lines:
        claim.lines && claim.lines.differing + claim.lines.onlyTheirs + claim.lines.onlyOurs,
    })),
  };
}
