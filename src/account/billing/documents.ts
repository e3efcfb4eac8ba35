import { formatUsd, instant, microUsd, monthName, receiptFacts } from "../../kernel/index.ts";
import type { ReceiptFacts } from "./billing.ts";
import type { PurchaseRecord } from "./purchase-store.ts";
import type { Buyer, Seller } from "./company.ts";
import type { Paper, PaperTable } from "./paper.ts";
import type { StatementDocument, UsageLine } from "../console-api/contract/statements.ts";
import { negated, type Statement } from "./statements.ts";

export type PaidPurchase = PurchaseRecord & {
  readonly receipt: ReceiptFacts;
  readonly grantedAtMs: number;
};

export function isPaid(purchase: PurchaseRecord): purchase is PaidPurchase {
  return purchase.receipt !== null && purchase.grantedAtMs !== null;
}

export function describePurchase({ isAutomatic }: PurchaseRecord): string {
  return isAutomatic ? "Prepaid API credit, automatic top-up" : "Prepaid API credit";
}

export function receiptPaper(purchase: PaidPurchase): Paper {
  const { receipt, amountMicroUsd, refundedMicroUsd, disputedMicroUsd } = purchase;
  const gross = dollars(formatUsd(amountMicroUsd));
  const back = microUsd(refundedMicroUsd + disputedMicroUsd);
  return {
    title: `Receipt ${receipt.number}`,
    ...(purchase.isTestMoney ? { warning: "Test money: no payment was made." } : {}),
    from: linesOfSeller(receipt.seller),
    to: linesOfBuyer(receipt.buyer),
    facts: receiptFacts({
      number: receipt.number,
      paid: instant(purchase.grantedAtMs).slice(0, DAY_CHARS),
      method: purchase.paymentMethod,
      reference: purchase.paymentId,
      purchaseId: purchase.purchaseId,
    }),
    tables: [
      {
        title: "Paid",
        columns: [
          { label: "Description", share: 0.5 },
          { label: "Quantity", share: 0.14, isFigure: true },
          { label: "Unit price", share: 0.18, isFigure: true },
          { label: "Amount", share: 0.18, isFigure: true },
        ],
        rows: [
          [describePurchase(purchase), "1", gross, gross],
          ["Net", "", "", gross],
          ["Tax", "", "", dollars("0.000000")],
          ["Total in US dollars", "", "", gross],
        ],
        sums: 1,
      },
    ],
    notes: [
      receipt.seller.noTaxReason,
      ...(back > 0n ? [`Refunded or disputed since: ${dollars(formatUsd(back))}.`] : []),
      "It confirms a payment for prepaid credit. Its parties are those of the day of payment.",
    ].filter((note) => note !== ""),
    at: new Date(purchase.grantedAtMs),
  };
}

const DAY_CHARS = "2026-11-28".length;

/** Prints the present seller and buyer, since a statement stores figures only. */
export function statementPaper(statement: Statement, seller: Seller, buyer: Buyer): Paper {
  const { document, number, closedAtMs, sha256 } = statement;
  return {
    title: `Statement of ${monthName(document.month)}`,
    ...(number === null ? { warning: "Not closed: these figures may still change." } : {}),
    from: linesOfSeller(seller),
    to: linesOfBuyer(buyer),
    facts: [
      ["Number", number ?? "None before it is closed"],
      ["Month", `${document.month} (UTC)`],
      ["Closed", closedAtMs === null ? "No" : instant(closedAtMs).slice(0, DAY_CHARS)],
    ],
    tables: [
      balanceTable(document),
      ...(document.lines.length === 0 ? [] : [linesTable(document)]),
      usageTable("Usage by model", document.models, ({ model }) => model),
      usageTable("Usage by key", document.keys, ({ name }) => name),
    ],
    notes: [
      ...(document.lines_left_out === 0
        ? []
        : [`${document.lines_left_out} more credits are in the sums only.`]),
      "Costs count in the UTC month in which they were charged. Amounts are US dollars.",
      ...(sha256 === null ? [] : [`SHA-256 of the JSON file: ${sha256}`]),
    ],
    at: new Date(closedAtMs ?? 0),
  };
}

const CREDITS: Readonly<Record<string, string>> = {
  purchase: "Purchase",
  grant: "Credit grant",
  refund: "Refund",
  refund_reversal: "Refund reversed",
  dispute: "Dispute",
  dispute_reversal: "Dispute won",
};

function balanceTable(document: StatementDocument): PaperTable {
  const unlisted = dollars(negated(document.unlisted_usage_usd));
  return {
    title: "Balance",
    columns: [
      { label: "Line", share: 0.7 },
      { label: "Amount", share: 0.3, isFigure: true },
    ],
    rows: [
      ["Opening balance", dollars(document.opening_usd)],
      ...document.credits.map(({ kind, count, amount_usd: usd }) => [
        `${CREDITS[kind] ?? "Other"} (${count})`,
        dollars(usd),
      ]),
      ["Usage", dollars(negated(document.usage_usd))],
      ...(/[1-9]/.test(document.unlisted_usage_usd)
        ? [["Includes archived requests not listed below", unlisted]]
        : []),
      ["Closing balance", dollars(document.closing_usd)],
    ],
    sums: 1,
  };
}

function linesTable({ lines }: StatementDocument): PaperTable {
  return {
    title: "Credit, refunds and disputes",
    columns: [
      { label: "Date", share: 0.14 },
      { label: "Type", share: 0.18 },
      { label: "Receipt", share: 0.17 },
      { label: "Reference", share: 0.33 },
      { label: "Amount", share: 0.18, isFigure: true },
    ],
    rows: lines.map(({ at, kind, receipt, ref, amount_usd: usd }) => [
      at.slice(0, DAY_CHARS),
      CREDITS[kind] ?? "Other",
      receipt ?? "",
      ref,
      dollars(usd),
    ]),
  };
}

function usageTable<T extends UsageLine>(
  title: string,
  lines: readonly T[],
  nameOf: (line: T) => string,
): PaperTable {
  return {
    title,
    columns: [
      { label: "Name", share: 0.4 },
      { label: "Requests", share: 0.13, isFigure: true },
      { label: "Input tokens", share: 0.15, isFigure: true },
      { label: "Output tokens", share: 0.15, isFigure: true },
      { label: "Cost", share: 0.17, isFigure: true },
    ],
    rows: lines.map((line) => [
      nameOf(line),
      ...[line.requests, line.input_tokens, line.output_tokens].map((count) =>
        count.toLocaleString("en-US"),
      ),
      dollars(line.cost_usd),
    ]),
  };
}

/** Prints an amount of whole cents with two decimals, any other with all its decimals. */
function dollars(usd: string): string {
  const [, sign = "", whole = "", part = ""] = /^(-?)(\d+)\.(\d+)$/.exec(usd) ?? [];
  const cents = part.replace(/0{1,4}$/, "").padEnd(2, "0");
  const thousands = BigInt(whole).toLocaleString("en-US");
  return `${sign}$${thousands}.${cents.length === 2 ? cents : part}`;
}

function linesOfSeller(seller: Seller): readonly string[] {
  const { name, addressLines, taxId, note, url } = seller;
  const first = name === "" ? `Token Market at ${url}` : name;
  const lines = [first, ...addressLines, taxId === "" ? "" : `Tax ID ${taxId}`, note];
  return lines.filter((line) => line !== "");
}

function linesOfBuyer({ name, company }: Buyer): readonly string[] {
  if (company === null) return [name];
  const { legalName, addressLines, postalCode, city, country, taxId, purchaseOrder } = company;
  return [
    legalName,
    ...addressLines,
    `${postalCode} ${city}`.trim(),
    new Intl.DisplayNames("en", { type: "region" }).of(country) ?? country,
    taxId === null ? "" : `Tax ID ${taxId.value}`,
    purchaseOrder === "" ? "" : `Purchase order ${purchaseOrder}`,
  ].filter((line) => line !== "");
}
