import { PurchaseFault, TopUpFault, type TopUpView } from "../billing/billing.ts";
import type { PurchaseRecord } from "../billing/purchase-store.ts";
import {
  csvLine,
  defined,
  formatUsd,
  instant,
  type OrgId,
  pauseSentence,
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
  type TopUp,
  TopUpCard,
  TopUpPause,
  TopUpRule,
} from "./contract/statements.ts";
import { paperFile, writeLines } from "./file-answer.ts";
import type { Handlers } from "./handler.ts";
import { readAmount } from "./read-values.ts";
import type { Balance as LedgerBalance } from "../../ledger/index.ts";
import { presentIssuer } from "./statement-routes.ts";
import { present } from "./present.ts";
import { Balance } from "./contract/shared.ts";

export function billingHandlers(deps: ConsoleDeps): Handlers<keyof typeof billingRoutes> {
  const { billing, companies, purchases, records, reports } = deps;
  return {
    "GET /api/console/billing": async ({ session: { orgId } }) => {
      const [balance, owedMicroUsd, listed] = await Promise.all([
        records.balance(orgId),
        purchases.owed(orgId),
        purchases.list(orgId),
      ]);
      return present(
        Billing,
        { owedMicroUsd, payments: billing },
        {
          balance: presentBalance(balance),
          purchases: listed.map(presentPurchase),
        },
      );
    },

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

    ...topUpHandlers(deps),

    "GET /api/console/credit-ledger.csv": async ({ session }) => ({
      fileName: "credit-ledger.csv",
      pieces: writeLines(LEDGER_HEAD, everyWalletLine(deps, session.orgId), ledgerLine),
    }),
  };
}

const PAGE_LINES = 50;
const FILE_PAGE_LINES = 200;

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
  if (fault.kind === "not_configured") return conflict(fault.message);
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

const LEDGER_HEAD = "at,kind,ref,amount_usd\r\n";

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
  const purchase = await deps.purchases.findOwn(orgId, purchaseId);
  if (purchase === undefined) return notFound("purchase");
  return isPaid(purchase) ? purchase : NOT_PAID;
}

type TopUpRoute = Extract<keyof typeof billingRoutes, `${string}/top-up${string}`>;

function topUpHandlers({ billing, log }: ConsoleDeps): Handlers<TopUpRoute> {
  const shown = (view: TopUpView | undefined): TopUp => ({
    ...presentTopUp(view),
    min_usd: formatUsd(billing.minMicroUsd),
    max_usd: formatUsd(billing.maxMicroUsd),
  });
  const change = async <T>(
    work: (topUps: NonNullable<typeof billing.topUps>) => Promise<T>,
  ): Promise<T | ConsoleRefusal> => {
    const { topUps } = billing;
    if (topUps === undefined) return NOT_AVAILABLE;
    try {
      return await work(topUps);
    } catch (fault) {
      if (fault instanceof TopUpFault) {
        const { field, message } = fault;
        return field === "card" ? conflict(message) : invalidField(field, message);
      }
      if (!(fault instanceof PurchaseFault)) throw fault;
      log.error({ err: fault }, "the payment provider did not start saving a card");
      const message =
        "the payment provider returned an unexpected response; nothing was changed. Try again";
      return new ConsoleRefusal(502, "upstream_error", message);
    }
  };
  return {
    "GET /api/console/top-up": async ({ session }) =>
      shown(await billing.topUps?.read(session.orgId)),

    "PATCH /api/console/top-up": async ({ session, body, by }) => {
      const rule = {
        isOn: body.is_on,
        belowMicroUsd: readAmount(body.below_usd),
        amountMicroUsd: readAmount(body.amount_usd),
        monthMaxMicroUsd: readAmount(body.month_max_usd),
      };
      return await change(async (topUps) => {
        await topUps.setRule(session.orgId, rule, by);
        return shown(await topUps.read(session.orgId));
      });
    },

    "POST /api/console/top-up/card": ({ session }) =>
      change(async (topUps) => {
        const { checkoutUrl } = await topUps.openCardCheckout(session.orgId);
        return { checkout_url: checkoutUrl };
      }),

    "POST /api/console/top-up/card/remove": async ({ session, by }) => {
      const { topUps } = billing;
      if (topUps === undefined) return NOT_AVAILABLE;
      const isRemoved = await topUps.removeCard(session.orgId, by);
      return isRemoved ? shown(await topUps.read(session.orgId)) : NO_CARD;
    },
  };
}

const NOT_AVAILABLE = conflict("automatic top-up is not available here; ask your operator");
const NO_CARD = conflict("there is no saved card to remove; reload the page");

export function presentTopUp(view: TopUpView | undefined): Omit<TopUp, "min_usd" | "max_usd"> {
  const { rule, pause, card } = view ?? {};
  return {
    is_available: view !== undefined,
    card: card === undefined ? null : present(TopUpCard, card),
    is_card_pending: view?.isCardPending ?? false,
    rule: rule === undefined ? null : present(TopUpRule, rule),
    pause:
      pause === undefined
        ? null
        : present(TopUpPause, pause, { text: pauseSentence(pause.reason) }),
    month_spent_usd: formatUsd(view?.monthMicroUsd ?? ZERO_MICRO_USD),
    has_open_purchase: view?.hasOpenPurchase ?? false,
  };
}
