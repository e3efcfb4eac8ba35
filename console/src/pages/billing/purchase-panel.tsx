import type { Purchase, PurchaseStatus } from "../../api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge, type Tone } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { moneyColumn, timeColumn, column } from "../../ui/columns.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";
import { compareUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { NewestNote, Note } from "../../ui/page.tsx";

/** Maximum number of purchases that the server lists. */
const LISTED_MAX = 1_000;

/** Lists the newest purchases, including failed and abandoned ones. */
export function PurchasePanel({ purchases }: { readonly purchases: readonly Purchase[] }) {
  return (
    <TablePanel
      title="Purchases"
      caption={purchases.length < LISTED_MAX ? "All purchases" : "Newest purchases"}
      columns={COLUMNS}
      rows={purchases}
      rowKey={(purchase) => purchase.purchase_id}
      empty="No purchases yet."
      note={
        <NewestNote
          rows={purchases}
          max={LISTED_MAX}
          older="Older ones, if any, are in the monthly statements and in the file of your data, under Settings."
        />
      }
    />
  );
}

const COLUMNS: readonly Column<Purchase>[] = [
  timeColumn("at", "Created", (purchase) => purchase.created_at, { isSortable: true }),
  moneyColumn("amount", "Amount", (purchase) => purchase.amount_usd, {
    headline: true,
    isSortable: true,
  }),
  column("status", "Status", (purchase) => <PurchaseState purchase={purchase} />, {
    sortValue: (purchase) => purchase.status,
  }),
  timeColumn("granted", "Credit added", ({ granted_at: at }) => at, {
    sortValue: (purchase) => purchase.granted_at ?? "",
  }),
  column("id", "Purchase ID", (purchase) => (
    <Copyable value={purchase.purchase_id} label="purchase ID" short />
  )),
  column("receipt", "Receipt", (purchase) => <Receipt purchase={purchase} />),
];

export function PurchaseState({ purchase }: { readonly purchase: Purchase }) {
  const { label, tone } = purchaseWords(purchase);
  return (
    <>
      <StatusBadge tone={tone}>{label}</StatusBadge>
      {purchase.is_automatic ? <Note size="xs">automatic</Note> : null}
      {purchase.is_test_money ? <Note size="xs">test money</Note> : null}
      {compareUsd(purchase.refunded_usd, "0") > 0 ? (
        <Note size="xs">
          refunded <Money usd={purchase.refunded_usd} headline />
        </Note>
      ) : null}
      {compareUsd(purchase.disputed_usd, "0") > 0 ? (
        <Note size="xs">
          disputed <Money usd={purchase.disputed_usd} headline />
        </Note>
      ) : null}
    </>
  );
}

/** Links to the receipt or, while the payment is open, to the page that polls the purchase. */
function Receipt({ purchase }: { readonly purchase: Purchase }) {
  const { purchase_id: id, receipt } = purchase;
  if (receipt !== null) {
    return (
      <AppLink
        to="/billing/purchases/$purchaseId/receipt"
        params={{ purchaseId: id }}
        aria-label={`Receipt ${receipt}`}
      >
        {receipt}
      </AppLink>
    );
  }
  if (purchaseWords(purchase).isDecided) return "–";
  return (
    <AppLink to="/billing/return/$purchaseId" params={{ purchaseId: id }}>
      Check again
    </AppLink>
  );
}

type Words = readonly [label: string, tone: Tone, meaning: string];

/** In the result, `isDecided` is false while the payment is open or pending and must be polled. */
export function purchaseWords(purchase: Purchase) {
  const { status } = purchase;
  const [label, tone, meaning] = status === "parked" ? parkedWords(purchase) : WORDS[status];
  return { label, tone, meaning, isDecided: status !== "created" && status !== "pending" };
}

function parkedWords(purchase: Purchase): Words {
  if (purchase.is_granted_by_hand) return PARKED.granted;
  if (compareUsd(purchase.refunded_usd, "0") <= 0) return PARKED.reviewed;
  const isWhole = compareUsd(purchase.refunded_usd, purchase.amount_usd) >= 0;
  return isWhole ? PARKED.refunded : PARKED.partly_refunded;
}

const PARKED = {
  reviewed: [
    "Under review",
    "warn",
    "A payment arrived that does not match the order. Support is reviewing it.",
  ],
  granted: ["Credited by support", "ok", "Support has added credit for this purchase."],
  refunded: [
    "Refunded",
    "quiet",
    "The payment did not match the order and was refunded. No credit was added.",
  ],
  partly_refunded: [
    "Partially refunded",
    "warn",
    "The payment did not match the order. Part of it was refunded, and no credit was added yet.",
  ],
} as const satisfies Record<string, Words>;

const WORDS: Readonly<Record<Exclude<PurchaseStatus, "parked">, Words>> = {
  created: ["Not paid", "quiet", "The payment provider has not confirmed a payment yet."],
  pending: ["Pending", "warn", "The payment is in progress. Your bank has not confirmed it yet."],
  paid: ["Paid", "ok", "Payment confirmed. The credit is in your balance."],
  partly_refunded: [
    "Partially refunded",
    "warn",
    "Part of this payment was refunded and deducted from your balance.",
  ],
  refunded: ["Refunded", "quiet", "This payment was refunded and deducted from your balance."],
  disputed: [
    "Disputed",
    "bad",
    "This payment was disputed with your bank and deducted from your balance. If the dispute is withdrawn or rejected, it is added again.",
  ],
  failed: ["Failed", "bad", "The payment failed. Nothing was charged and no credit was added."],
  expired: ["Expired", "quiet", "The payment page was closed before paying. Nothing was charged."],
};
