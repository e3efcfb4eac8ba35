import { PurchaseFault, type PurchaseRecord } from "../billing/billing.ts";
import {
  csvLine,
  formatUsd,
  instant,
  instantOrNull,
  type OrgId,
  plainCell,
  WELCOME_REF_PREFIX,
  microUsd,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { describePurchase, isPaid, type PaidPurchase, receiptPaper } from "../billing/documents.ts";
import type { WalletLine } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField, notFound } from "./console-refusal.ts";
import type { Billing, CreditEntry, Purchase, Balance, Receipt } from "./contract.ts";
import type { billingRoutes } from "./contract/billing.ts";
import { openFile, paperFile } from "./file-answer.ts";
import type { Handlers } from "./handler.ts";
import { readAmount } from "./read-values.ts";
import type { ReportGates } from "./report-gates.ts";
import type { Balance as LedgerBalance } from "../../ledger/index.ts";
import { shownCompany, shownIssuer } from "./show-company.ts";

/** The wallet: what is in it, what went in and out, and how to put more in. */
export function billingHandlers(
  deps: ConsoleDeps,
  gates: ReportGates,
): Handlers<keyof typeof billingRoutes> {
  const { billing, companies, reports, clock } = deps;
  return {
    "GET /api/console/billing": ({ session }) => readBilling(deps, session.orgId),

    "POST /api/console/purchases": ({ session, body, by }) =>
      gates.payments.run(session.orgId, async () => {
        const amountMicroUsd = readAmount(body.amount_usd);
        try {
          const { orgId, email } = session;
          const backTo = body.back_to ?? "billing";
          const savesCard = body.save_card ?? false;
          const company = await companies.find(orgId);
          const ofCompany = company === undefined ? {} : { company };
          const wanted = { orgId, amountMicroUsd, email, backTo, savesCard, ...ofCompany };
          const started = await billing.startPurchase(wanted, by);
          return { purchase: shownPurchase(started.purchase), checkout_url: started.checkoutUrl };
        } catch (fault) {
          if (fault instanceof PurchaseFault) return refusedPurchase(deps, fault);
          throw fault;
        }
      }),

    "GET /api/console/purchases/:purchase_id": ({ session, params }) =>
      gates.payments.run(session.orgId, async () => {
        const purchase = await billing.checkPurchase(session.orgId, params.purchase_id);
        return purchase === undefined ? notFound("purchase") : shownPurchase(purchase);
      }),

    "GET /api/console/purchases/:purchase_id/receipt": ({ session, params }) =>
      gates.reads.run(session.orgId, () => readReceipt(deps, session.orgId, params.purchase_id)),

    "GET /api/console/purchases/:purchase_id/receipt.pdf": ({ session: { orgId }, params }) =>
      gates.reads.run(orgId, async () => {
        const purchase = await findPaid(deps, orgId, params.purchase_id);
        if (purchase instanceof ConsoleRefusal) return purchase;
        return await paperFile({ gates: gates.files, clock }, orgId, receiptPaper(purchase));
      }),

    "GET /api/console/credit-ledger": ({ session, query }) =>
      gates.reads.run(session.orgId, async () => {
        const { limit = PAGE_LINES, cursor } = query;
        const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
        const { lines, nextCursor } = await reports.walletLines(session.orgId, page);
        return { data: lines.map(shownLine), next_cursor: nextCursor };
      }),

    "GET /api/console/credit-ledger.csv": ({ session }) =>
      openFile(
        { gates: gates.files, clock },
        {
          orgId: session.orgId,
          contentType: "text/csv; charset=utf-8",
          fileName: "credit-ledger.csv",
          pieces: ledgerCsv(deps, session.orgId),
        },
      ),
  };
}

const PAGE_LINES = 50;
const FILE_PAGE_LINES = 200;

async function readBilling(deps: ConsoleDeps, orgId: OrgId): Promise<Billing> {
  const { billing, records } = deps;
  const [balance, owed, purchases] = await Promise.all([
    records.balance(orgId),
    billing.owed(orgId),
    billing.listPurchases(orgId),
  ]);
  return {
    balance: shownBalance(balance),
    owed_usd: formatUsd(owed),
    payments: {
      mode: billing.mode,
      min_usd: formatUsd(billing.minMicroUsd),
      max_usd: formatUsd(billing.maxMicroUsd),
    },
    purchases: purchases.map(shownPurchase),
  };
}

export function shownPurchase(purchase: PurchaseRecord): Purchase {
  return {
    purchase_id: purchase.purchaseId,
    amount_usd: formatUsd(purchase.amountMicroUsd),
    status: purchase.state,
    created_at: instant(purchase.createdAtMs),
    granted_at: instantOrNull(purchase.grantedAtMs),
    refunded_usd: formatUsd(purchase.refundedMicroUsd),
    disputed_usd: formatUsd(purchase.disputedMicroUsd),
    receipt: purchase.receipt?.number ?? null,
    receipt_url: purchase.receiptUrl,
    is_test_money: purchase.isTestMoney,
    is_automatic: purchase.isAutomatic,
  };
}

function refusedPurchase({ log }: ConsoleDeps, fault: PurchaseFault): ConsoleRefusal {
  if (fault.kind === "bad_amount") return invalidField("amount_usd", fault.message);
  if (fault.kind === "not_configured") {
    return conflict(
      "credit cannot be bought here; ask the operator of this installation to add it",
    );
  }
  log.error({ err: fault }, "the payment provider did not start a purchase");
  return new ConsoleRefusal({
    status: 502,
    code: "upstream_error",
    message: "the payment provider returned an unexpected response; nothing was charged. Try again",
  });
}

export function shownLine({ atMs, kind, ref, amountMicroUsd }: WalletLine): CreditEntry {
  const isWelcome = kind === "grant" && ref.startsWith(WELCOME_REF_PREFIX);
  const shown = isWelcome ? "welcome" : kind;
  return { at: instant(atMs), kind: shown, ref, amount_usd: formatUsd(amountMicroUsd) };
}

/** Every line of the wallet, newest first, a page in memory at a time. */
export async function* everyWalletLine(
  { reports }: Pick<ConsoleDeps, "reports">,
  orgId: OrgId,
): AsyncIterable<readonly CreditEntry[]> {
  let cursor: string | undefined;
  do {
    const page = { limit: FILE_PAGE_LINES, ...(cursor === undefined ? {} : { cursor }) };
    const { lines, nextCursor } = await reports.walletLines(orgId, page);
    yield lines.map(shownLine);
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
}

async function* ledgerCsv(deps: ConsoleDeps, orgId: OrgId): AsyncIterable<string> {
  let head = "at,kind,ref,amount_usd\r\n";
  for await (const entries of everyWalletLine(deps, orgId)) {
    yield head + entries.map(ledgerLine).join("");
    head = "";
  }
}

function ledgerLine({ at, kind, ref, amount_usd }: CreditEntry): string {
  return `${csvLine([at, kind, plainCell(ref), amount_usd])}\r\n`;
}

export function shownBalance({ settledMicroUsd, heldMicroUsd }: LedgerBalance): Balance {
  return {
    available_usd: formatUsd(microUsd(settledMicroUsd - heldMicroUsd)),
    settled_usd: formatUsd(settledMicroUsd),
    held_usd: formatUsd(heldMicroUsd),
  };
}

const NOT_PAID = conflict(
  "this purchase was not paid, so it has no receipt; see its state on the billing page",
);

/**
 * Reads the receipt of one purchase. Only the purchases that the billing page lists have one:
 * nothing is asked of the payment provider, and nothing changes.
 */
async function readReceipt(
  deps: ConsoleDeps,
  orgId: OrgId,
  purchaseId: string,
): Promise<Receipt | ConsoleRefusal> {
  const purchase = await findPaid(deps, orgId, purchaseId);
  if (purchase instanceof ConsoleRefusal) return purchase;
  const { buyer, seller, number } = purchase.receipt;
  const amountUsd = formatUsd(purchase.amountMicroUsd);
  return {
    number,
    purchase_id: purchase.purchaseId,
    paid_at: instant(purchase.grantedAtMs),
    description: describePurchase(purchase),
    net_usd: amountUsd,
    tax_usd: formatUsd(ZERO_MICRO_USD),
    no_tax_reason: seller.noTaxReason,
    amount_usd: amountUsd,
    refunded_usd: formatUsd(purchase.refundedMicroUsd),
    disputed_usd: formatUsd(purchase.disputedMicroUsd),
    payment_reference: purchase.paymentId,
    payment_method: purchase.paymentMethod,
    provider_url: purchase.isTestMoney ? null : purchase.receiptUrl,
    is_test_money: purchase.isTestMoney,
    is_automatic: purchase.isAutomatic,
    buyer: buyer.name,
    company: buyer.company === null ? null : shownCompany(buyer.company),
    issuer: shownIssuer(seller),
  };
}

async function findPaid(
  deps: ConsoleDeps,
  orgId: OrgId,
  purchaseId: string,
): Promise<PaidPurchase | ConsoleRefusal> {
  const purchases = await deps.billing.listPurchases(orgId);
  const purchase = purchases.find((each) => each.purchaseId === purchaseId);
  if (purchase === undefined) return notFound("purchase");
  return isPaid(purchase) ? purchase : NOT_PAID;
}
