import { type ChangedBy, formatUsd, microUsd } from "../../kernel/index.ts";
import type { ChargeUpdate, SessionUpdate } from "./billing.ts";
import type { StripePayments } from "./stripe-payments.ts";
import { MICRO_PER_CENT } from "./stripe-updates.ts";
import type { TopUpChargesDeps } from "./top-up-charges.ts";

const DAY_MS = 86_400_000;
const CHECKOUT_AGE_MAX_MS = DAY_MS;
const PURCHASE_ID = /^pur_[0-9A-Za-z_-]{1,60}$/;

export interface RecoveredPayments {
  readonly sessions: number;
  /** Purchases that the ledger had lost and now has again. */
  readonly purchases: number;
  readonly granted: number;
  readonly claims: number;
  /**
   * Paid checkouts and automatic charges of unknown organizations. An operator has to recreate each
   * organization and grant the credit by hand.
   */
  readonly unknownOrgs: readonly UnknownPayer[];
  /** Ids of checkouts, charges and claims that could not be applied; run the recovery again. */
  readonly failed: readonly string[];
}

export interface UnknownPayer {
  readonly orgId: string;
  readonly purchaseId: string;
  readonly sessionId: string;
  readonly amountUsd: string;
}

export interface RecoveryDeps extends Pick<
  TopUpChargesDeps,
  "store" | "topUps" | "service" | "log"
> {
  readonly payments: StripePayments;
  readonly by: ChangedBy;
}

/**
 * After a restore, applies every checkout, charge, refund and dispute that the payment provider
 * knows, from a day before `sinceMs` on, because a checkout can be paid up to a day after it was
 * opened. It changes nothing that the ledger already has. A checkout's metadata name its purchase
 * and its organization.
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
  const recover = async (found: FoundCheckout, charge?: ChargeUpdate): Promise<void> => {
    const { session } = found;
    if (session.purchaseId === null || !PURCHASE_ID.test(session.purchaseId)) return;
    sessions += 1;
    await attempted(session.sessionId, async () => {
      const sessionId = charge === undefined ? session.sessionId : null;
      const outcome = await recoverSession(deps, found, sessionId);
      if (outcome === "unknown_org") {
        unknownOrgs.push(...findUnknownPayer(session));
        return;
      }
      if (outcome === "recovered") {
        purchases += 1;
        if (charge !== undefined) await keepAutomatic(deps, charge);
      }
      if (await creditIfPaid(deps, session)) granted += 1;
    });
  };
  const fromMs = sinceMs - CHECKOUT_AGE_MAX_MS;
  for await (const found of payments.sessionsSince(fromMs)) await recover(found);
  for await (const charge of payments.cards.chargesSince(fromMs)) {
    await recover({ ...charge, expiresAtMs: charge.createdAtMs }, charge);
  }
  for await (const claim of payments.claimsSince(fromMs)) {
    claims += 1;
    await attempted(claim.claimId, () => service.takeClaim(claim));
  }
  return { sessions, purchases, granted, claims, unknownOrgs, failed };
}

interface FoundCheckout {
  readonly session: SessionUpdate;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

type SessionOutcome = "known" | "recovered" | "unknown_org" | "nothing";

async function recoverSession(
  { store, by }: RecoveryDeps,
  { session, createdAtMs, expiresAtMs }: FoundCheckout,
  sessionId: string | null,
): Promise<SessionOutcome> {
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

/** Marks a recovered purchase as automatic, so that it counts towards the monthly top-up limit. */
async function keepAutomatic({ topUps }: RecoveryDeps, charge: ChargeUpdate): Promise<void> {
  const { session, customerId, cardId } = charge;
  const purchaseId = session.purchaseId ?? "";
  await topUps.recover({ purchaseId, customerId: customerId ?? "", cardId: cardId ?? "" });
}

/** Applies the checkout's state; true if that credited the wallet. */
async function creditIfPaid(
  { store, service }: RecoveryDeps,
  session: SessionUpdate,
): Promise<boolean> {
  const purchaseId = session.purchaseId ?? "";
  const before = (await store.find(purchaseId))?.grantedAtMs ?? null;
  await service.takeSession(session);
  return before === null && ((await store.find(purchaseId))?.grantedAtMs ?? null) !== null;
}

/** Empty if the session was not paid, since no credit is missing then. */
function findUnknownPayer(session: SessionUpdate): UnknownPayer[] {
  if (session.payment !== "paid") return [];
  const { orgId, purchaseId, sessionId, cents } = session;
  const amountUsd = formatUsd(microUsd((cents ?? 0n) * MICRO_PER_CENT));
  return [{ orgId: orgId ?? "", purchaseId: purchaseId ?? "", sessionId, amountUsd }];
}
