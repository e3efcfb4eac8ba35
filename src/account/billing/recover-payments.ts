import { type ChangedBy, formatUsd, type Logger, microUsd } from "../../kernel/index.ts";
import type { ChargeUpdate, SessionUpdate } from "./payment-update.ts";
import type { PurchaseService } from "./purchase-service.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import type { StripePayments } from "./stripe-payments.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";

const DAY_MS = 86_400_000;
/** How long a checkout can be paid after it was opened. */
const CHECKOUT_AGE_MAX_MS = DAY_MS;
const MICRO_PER_CENT = 10_000n;
const PURCHASE_ID = /^pur_[0-9A-Za-z_-]{1,60}$/;

/** Payments that the payment provider knew and the books did not. */
export interface RecoveredPayments {
  readonly sessions: number;
  /** Purchases that the books had lost and have again. */
  readonly purchases: number;
  /** Purchases that this run credited. */
  readonly granted: number;
  readonly claims: number;
  /** Paid by organizations that the books do not know: to be made again, and granted by hand. */
  readonly unknownOrgs: readonly UnknownPayer[];
  /** The organizations for which it failed; run it again. */
  readonly failed: readonly string[];
}

export interface UnknownPayer {
  readonly orgId: string;
  readonly purchaseId: string;
  readonly sessionId: string;
  readonly amountUsd: string;
}

export interface RecoveryDeps {
  readonly store: PurchaseStore;
  readonly topUps: TopUpStore;
  readonly payments: StripePayments;
  readonly service: PurchaseService;
  readonly log: Logger;
  readonly by: ChangedBy;
}

/**
 * After a restore: every checkout, refund and dispute since then, as the payment provider has them.
 * What is in the books already changes nothing; the metadata of a checkout name its purchase and
 * its organization.
 */
export async function recoverPayments(
  deps: RecoveryDeps,
  sinceMs: number,
): Promise<RecoveredPayments> {
  const { payments, service } = deps;
  const failed: string[] = [];
  const attempted = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (fault) {
      failed.push(name);
      deps.log.warn({ err: fault, name }, "a payment could not be recovered");
    }
  };
  let [sessions, purchases, granted, claims] = [0, 0, 0, 0];
  const unknownOrgs: UnknownPayer[] = [];
  for await (const found of payments.sessionsSince(sinceMs - CHECKOUT_AGE_MAX_MS)) {
    const { session } = found;
    if (session.purchaseId === null || !PURCHASE_ID.test(session.purchaseId)) continue;
    sessions += 1;
    await attempted(session.sessionId, async () => {
      const outcome = await recoverSession(deps, found);
      if (outcome === "unknown_org") unknownOrgs.push(...unknownPayer(session));
      if (outcome === "recovered") purchases += 1;
      if (outcome !== "unknown_org" && (await takeAndTell(deps, session))) granted += 1;
    });
  }
  for await (const charge of payments.cards.chargesSince(sinceMs - CHECKOUT_AGE_MAX_MS)) {
    const { session, createdAtMs } = charge;
    if (session.purchaseId === null || !PURCHASE_ID.test(session.purchaseId)) continue;
    sessions += 1;
    await attempted(session.sessionId, async () => {
      const found = { session, createdAtMs, expiresAtMs: createdAtMs };
      const outcome = await recoverSession(deps, found, null);
      if (outcome === "unknown_org") unknownOrgs.push(...unknownPayer(session));
      if (outcome === "recovered") {
        purchases += 1;
        await keepAutomatic(deps, charge);
      }
      if (outcome !== "unknown_org" && (await takeAndTell(deps, session))) granted += 1;
    });
  }
  for await (const claim of payments.claimsSince(sinceMs - CHECKOUT_AGE_MAX_MS)) {
    claims += 1;
    await attempted(claim.claimId, () => service.takeClaim(claim));
  }
  return { sessions, purchases, granted, claims, unknownOrgs, failed };
}

type SessionOutcome = "known" | "recovered" | "unknown_org" | "nothing";

/** Makes the purchase again that a checkout names. */
async function recoverSession(
  { store, by }: RecoveryDeps,
  found: {
    readonly session: SessionUpdate;
    readonly createdAtMs: number;
    readonly expiresAtMs: number;
  },
  sessionId: string | null = found.session.sessionId,
): Promise<SessionOutcome> {
  const { session, createdAtMs, expiresAtMs } = found;
  const { purchaseId, orgId, cents } = session;
  if (purchaseId === null || orgId === null || cents === null) return "nothing";
  const purchase = {
    purchaseId,
    orgId,
    amountMicroUsd: microUsd(cents * MICRO_PER_CENT),
    isTestMoney: !session.isLive,
    sessionId,
    createdAtMs,
    expiresAtMs,
  };
  return await store.recover(purchase, by);
}

/** It counts against the ceiling of its month again. */
async function keepAutomatic({ topUps }: RecoveryDeps, charge: ChargeUpdate): Promise<void> {
  const { session, customerId, cardId } = charge;
  const purchaseId = session.purchaseId ?? "";
  await topUps.recover({ purchaseId, customerId: customerId ?? "", cardId: cardId ?? "" });
}

/** Applies the state of the checkout. Returns true if that credited the wallet. */
async function takeAndTell(
  { store, service }: RecoveryDeps,
  session: SessionUpdate,
): Promise<boolean> {
  const purchaseId = session.purchaseId ?? "";
  const before = (await store.find(purchaseId))?.grantedAtMs ?? null;
  await service.takeSession(session);
  return before === null && ((await store.find(purchaseId))?.grantedAtMs ?? null) !== null;
}

/** A session that was not paid needs no credit. */
function unknownPayer(session: SessionUpdate): UnknownPayer[] {
  if (session.payment !== "paid") return [];
  const { orgId, purchaseId, sessionId, cents } = session;
  const amountUsd = formatUsd(microUsd((cents ?? 0n) * MICRO_PER_CENT));
  return [{ orgId: orgId ?? "", purchaseId: purchaseId ?? "", sessionId, amountUsd }];
}
