import { PurchaseFault } from "../billing/billing.ts";
import type { PurchaseRecord } from "../billing/purchase-store.ts";
import {
  csvLine,
  defined,
  formatUsd,
  instant,
  type OrgId,
  plainCell,
  WELCOME_REF_PREFIX,
  microUsd,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { describePurchase, isPaid, type PaidPurchase, receiptPaper } from "../billing/documents.ts";
import type { WalletLine } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import {
  conflict,
  ConsoleRefusal,
  invalidField,
  notFound,
  rateLimited,
} from "./console-refusal.ts";
import {
  Billing,
  type billingRoutes,
  CompanyData,
  CreditEntry,
  Purchase,
  Receipt,
} from "./contract/statements.ts";
import { paperFile } from "./file-answer.ts";
import type { Handlers } from "./handler.ts";
import { readAmount } from "./read-values.ts";
import type { Balance as LedgerBalance } from "../../ledger/index.ts";
import { presentIssuer } from "./statement-routes.ts";
import { present } from "./present.ts";
import { Balance } from "./contract/shared.ts";

export function billingHandlers(deps: ConsoleDeps): Handlers<keyof typeof billingRoutes> {
  const { billing, companies, reports } = deps;
  return {
    "GET /api/console/billing": ({ session }) => readBilling(deps, session.orgId),

    "POST /api/console/purchases": async ({ session, body, by }) => {
      const amountMicroUsd = readAmount(body.amount_usd);
      try {
        const { orgId, email } = session;
        const backTo = body.back_to ?? "billing";
        const savesCard = body.save_card ?? false;
        const company = await companies.find(orgId);
        const wanted = defined({ orgId, amountMicroUsd, email, backTo, savesCard, company });
        const started = await billing.startPurchase(wanted, by);
        return { purchase: presentPurchase(started.purchase), checkout_url: started.checkoutUrl };
      } catch (fault) {
        if (fault instanceof PurchaseFault) return toPurchaseRefusal(deps, fault);
        throw fault;
      }
    },

    "GET /api/console/purchases/:purchase_id": async ({ session, params }) => {
      const purchase = await billing.checkPurchase(session.orgId, params.purchase_id);
      return purchase === undefined ? notFound("purchase") : presentPurchase(purchase);
    },

    "GET /api/console/purchases/:purchase_id/receipt": ({ session, params }) =>
      readReceipt(deps, session.orgId, params.purchase_id),

    "GET /api/console/purchases/:purchase_id/receipt.pdf": async ({ session, params }) => {
      const purchase = await findPaid(deps, session.orgId, params.purchase_id);
      if (purchase instanceof ConsoleRefusal) return purchase;
      return paperFile(receiptPaper(purchase));
    },

    "GET /api/console/credit-ledger": async ({ session, query }) => {
      const { limit = PAGE_LINES, cursor } = query;
      const page = defined({ limit, cursor });
      const { lines, nextCursor } = await reports.walletLines(session.orgId, page);
      return { data: lines.map(presentLine), next_cursor: nextCursor };
    },

    "GET /api/console/credit-ledger.csv": async ({ session }) => ({
      fileName: "credit-ledger.csv",
      pieces: ledgerCsv(deps, session.orgId),
    }),
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
  const found = { owedMicroUsd: owed, payments: billing };
  return present(Billing, found, {
    balance: presentBalance(balance),
    purchases: purchases.map(presentPurchase),
  });
}

export function presentPurchase(purchase: PurchaseRecord): Purchase {
  return present(Purchase, purchase, {
    status: purchase.state,
    receipt: purchase.receipt?.number ?? null,
  });
}

const HOUR_SECONDS = 3_600;

function toPurchaseRefusal({ log }: ConsoleDeps, fault: PurchaseFault): ConsoleRefusal {
  if (fault.kind === "bad_amount") return invalidField("amount_usd", fault.message);
  if (fault.kind === "too_many") return rateLimited(fault.message, HOUR_SECONDS);
  if (fault.kind === "not_configured") {
    return conflict(
      "credit cannot be bought here; ask the operator of this installation to add it",
    );
  }
  log.error({ err: fault }, "the payment provider did not start a purchase");
  return new ConsoleRefusal(
    502,
    "upstream_error",
    "the payment provider returned an unexpected response; nothing was charged. Try again",
  );
}

export function presentLine(line: WalletLine): CreditEntry {
  const isWelcome = line.kind === "grant" && line.ref.startsWith(WELCOME_REF_PREFIX);
  return present(CreditEntry, line, { kind: isWelcome ? "welcome" : line.kind });
}

export async function* everyWalletLine(
  { reports }: Pick<ConsoleDeps, "reports">,
  orgId: OrgId,
): AsyncIterable<readonly CreditEntry[]> {
  let cursor: string | undefined;
  do {
    const page = defined({ limit: FILE_PAGE_LINES, cursor });
    const { lines, nextCursor } = await reports.walletLines(orgId, page);
    yield lines.map(presentLine);
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

export function presentBalance(balance: LedgerBalance): Balance {
  const { settledMicroUsd, heldMicroUsd } = balance;
  const available_usd = formatUsd(microUsd(settledMicroUsd - heldMicroUsd));
  return present(Balance, balance, { available_usd });
}

const NOT_PAID = conflict(
  "this purchase was not paid, so it has no receipt; see its state on the billing page",
);

/** Reads the receipt from the database, without a call to the payment provider. */
async function readReceipt(
  deps: ConsoleDeps,
  orgId: OrgId,
  purchaseId: string,
): Promise<Receipt | ConsoleRefusal> {
  const purchase = await findPaid(deps, orgId, purchaseId);
  if (purchase instanceof ConsoleRefusal) return purchase;
  const { buyer, seller, number } = purchase.receipt;
  const amountUsd = formatUsd(purchase.amountMicroUsd);
  return present(Receipt, purchase, {
    number,
    paid_at: instant(purchase.grantedAtMs),
    description: describePurchase(purchase),
    net_usd: amountUsd,
    tax_usd: formatUsd(ZERO_MICRO_USD),
    no_tax_reason: seller.noTaxReason,
    payment_reference: purchase.paymentId,
    provider_url: purchase.isTestMoney ? null : purchase.receiptUrl,
    buyer: buyer.name,
    company: buyer.company === null ? null : present(CompanyData, buyer.company),
    issuer: presentIssuer(seller),
  });
}

async function findPaid(
  deps: ConsoleDeps,
  orgId: OrgId,
  purchaseId: string,
): Promise<PaidPurchase | ConsoleRefusal> {
  const purchase = await deps.billing.findPurchase(orgId, purchaseId);
  if (purchase === undefined) return notFound("purchase");
  return isPaid(purchase) ? purchase : NOT_PAID;
}
