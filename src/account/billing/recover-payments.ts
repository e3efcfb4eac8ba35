import { type ChangedBy, formatUsd, microUsd } from "../../kernel/index.ts";
import type { ChargeUpdate, FoundCheckout, SessionUpdate } from "./billing.ts";
import type { PurchaseService } from "./purchase-service.ts";
import type { BillingParts } from "./stripe-payments.ts";
import { MICRO_PER_CENT } from "./stripe-updates.ts";

const CHECKOUT_AGE_MAX_MS = 86_400_000;
const PURCHASE_ID = /^pur_[0-9A-Za-z_-]{1,60}$/;

export interface RecoveredPayments {
  readonly sessions: number;
  readonly purchases: number;
  readonly granted: number;
  readonly claims: number;
  /** Payments of unknown organizations: an operator must recreate these and grant the credit. */
  readonly unknownOrgs: readonly UnknownPayer[];
  /** Ids of checkouts, charges and claims that could not be applied; run the recovery again. */
  readonly failed: readonly string[];
}

type UnknownPayer = Readonly<Record<"orgId" | "purchaseId" | "sessionId" | "amountUsd", string>>;

interface RecoveryDeps extends BillingParts {
  readonly service: PurchaseService;
  readonly by: ChangedBy;
}

/**
 * After a restore, applies what the payment provider recorded since a day before `sinceMs`, because
 * a checkout can be paid up to a day after it was opened. Changes nothing that the ledger has.
 */
export async function recoverPayments(
  deps: RecoveryDeps,
  sinceMs: number,
): Promise<RecoveredPayments> {
  const { topUps, payments, service } = deps;
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
    const { purchaseId, sessionId } = found.session;
    if (purchaseId === null || !PURCHASE_ID.test(purchaseId)) return;
    sessions += 1;
    await attempted(sessionId, async () => {
      const outcome = await recoverPurchase(deps, {
        ...found,
        purchaseId,
        sessionId: charge === undefined ? sessionId : null,
      });
      if (outcome === "unknown_org") {
        unknownOrgs.push(...findUnknownPayer(found.session));
        return;
      }
      if (outcome === "recovered") purchases += 1;
      if (charge !== undefined) {
        const { customerId, cardId } = charge;
        // Marks the purchase as automatic, so that it counts towards the monthly top-up limit. A
        // run that failed before this has left the purchase without the mark.
        await topUps.recover({ purchaseId, customerId: customerId ?? "", cardId: cardId ?? "" });
      }
      const wasGranted = await isGranted(deps, purchaseId);
      await service.takeSession(found.session);
      if (!wasGranted && (await isGranted(deps, purchaseId))) granted += 1;
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
  if (failed.length === 0) await topUps.endRecovery(fromMs);
  return { sessions, purchases, granted, claims, unknownOrgs, failed };
}

async function recoverPurchase(
  { store, by }: RecoveryDeps,
  found: FoundCheckout & { readonly purchaseId: string; readonly sessionId: string | null },
): Promise<"known" | "recovered" | "unknown_org" | "nothing"> {
  const { session, purchaseId, sessionId, createdAtMs, expiresAtMs } = found;
  const { orgId, cents, isLive } = session;
  if (orgId === null || cents === null) return "nothing";
  const amountMicroUsd = microUsd(cents * MICRO_PER_CENT);
  const times = { createdAtMs, expiresAtMs };
  const of = { purchaseId, orgId, amountMicroUsd, isTestMoney: !isLive, sessionId, ...times };
  return await store.recover(of, by);
}

async function isGranted({ store }: RecoveryDeps, purchaseId: string): Promise<boolean> {
  return ((await store.find(purchaseId))?.grantedAtMs ?? null) !== null;
}

/** Empty if the session was not paid, since no credit is missing then. */
function findUnknownPayer(session: SessionUpdate): UnknownPayer[] {
  if (session.payment !== "paid") return [];
  const { orgId, purchaseId, sessionId, cents } = session;
  const amountUsd = formatUsd(microUsd((cents ?? 0n) * MICRO_PER_CENT));
  return [{ orgId: orgId ?? "", purchaseId: purchaseId ?? "", sessionId, amountUsd }];
}
