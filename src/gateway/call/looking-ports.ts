import { microUsd } from "../../kernel/index.ts";
import type { Ledger, ReserveOutcome, ReserveRow, SpendReads } from "../../ledger/index.ts";
import type { LimitStore } from "../limits/limit-store.ts";
import type { DeploymentHealth } from "../routing/health.ts";
import type { CallPorts } from "./ports.ts";

/**
 * Ports of a dry run: a call is accepted, claimed and held by them as by the real ones, and nothing
 * stays of it. A claim is undone at once, no circuit is probed, and a hold is compared with what is
 * there, without being made.
 */
export function lookingPorts(ports: CallPorts, spend: SpendReads): CallPorts {
  return {
    ...ports,
    limits: lookingLimits(ports),
    health: lookingHealth(ports.health),
    ledger: lookingLedger(ports.ledger, spend),
    shortfalls: lookingShortfalls(ports.shortfalls),
  };
}

function lookingLimits({ limits, clock }: Pick<CallPorts, "limits" | "clock">): LimitStore {
  return {
    claim: async (claim) => {
      const outcome = await limits.claim(claim);
      if (outcome.kind === "claimed") limits.undo(outcome.lease, clock.monotonicMs());
      return outcome;
    },
    depart: () => undefined,
    // Undone already.
    release: () => undefined,
    undo: () => undefined,
    cool: () => undefined,
    peek: (asked) => limits.peek(asked),
  };
}

function lookingHealth(health: DeploymentHealth): DeploymentHealth {
  return {
    mayTry: (id, nowMs) => health.mayTry(id, nowMs),
    startProbe: (id, nowMs) => health.mayTry(id, nowMs) !== "no",
    report: () => undefined,
  };
}

/** A call would be refused by them; what a dry run reads was not the ledger's answer. */
function lookingShortfalls(shortfalls: CallPorts["shortfalls"]): CallPorts["shortfalls"] {
  return {
    find: (row) => shortfalls.find(row),
    asking: () => undefined,
    note: () => undefined,
    forget: () => undefined,
  };
}

function lookingLedger(ledger: Ledger, spend: SpendReads): Ledger {
  const reserve = (row: ReserveRow): Promise<ReserveOutcome> => lookAtReserve(spend, row);
  return {
    newAttemptId: () => ledger.newAttemptId(),
    reserve,
    roll: (_close, next) => reserve(next),
    close: () => Promise.reject(new Error("a dry run closes no attempt")),
    recordRefused: () => undefined,
    healthy: ledger.healthy,
    shutDown: () => Promise.resolve(),
  };
}

/** The checks of the ledger in the ledger's order: the key's caps, the organization's, the balance. */
async function lookAtReserve(spend: SpendReads, row: ReserveRow): Promise<ReserveOutcome> {
  const { orgId, keyId, reserveMicroUsd: needed } = row;
  const [balance, ofOrg, ofKey, ofPeriods] = await Promise.all([
    spend.balance(orgId),
    spend.monthSpend(orgId),
    spend.monthSpend(orgId, keyId),
    spend.periodSpend(orgId, keyId),
  ]);
  const caps = [
    { scope: "key", period: "month", ...ofKey } as const,
    ...ofPeriods.map((each) => ({ scope: "key", ...each }) as const),
    { scope: "org", period: "month", ...ofOrg } as const,
  ];
  for (const { scope, period, capMicroUsd, spentMicroUsd, inFlightMicroUsd, resetAtMs } of caps) {
    if (capMicroUsd === null || spentMicroUsd + inFlightMicroUsd + needed <= capMicroUsd) continue;
    const spent = { settledMicroUsd: spentMicroUsd, inFlightMicroUsd };
    return { kind: "cap", scope, period, capMicroUsd, ...spent, resetAtMs };
  }
  const { settledMicroUsd, heldMicroUsd } = balance;
  const availableMicroUsd = microUsd(settledMicroUsd - heldMicroUsd);
  if (needed > availableMicroUsd) return { kind: "low_balance", availableMicroUsd, heldMicroUsd };
  return { kind: "reserved" };
}
