import { Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Purchase } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { moneyColumn, timeColumn } from "../../ui/columns.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { compareUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { TablePanel } from "../../ui/table-panel.tsx";
import { purchaseMessage } from "./purchase-message.ts";

/** Lists every purchase, including failed and abandoned ones. */
export function PurchasePanel(props: { readonly purchases: readonly Purchase[] }): ReactNode {
  return (
    <TablePanel
      title="Purchases"
      caption="All purchases"
      columns={COLUMNS}
      rows={props.purchases}
      rowKey={(purchase) => purchase.purchase_id}
      empty="No purchases yet."
    />
  );
}

const COLUMNS: readonly Column<Purchase>[] = [
  timeColumn("at", "Created", (purchase) => purchase.created_at, { isSortable: true }),
  moneyColumn("amount", "Amount", (purchase) => purchase.amount_usd, {
    headline: true,
    isSortable: true,
  }),
  {
    id: "status",
    label: "Status",
    render: (purchase) => <PurchaseState purchase={purchase} />,
    sortValue: (purchase) => purchase.status,
  },
  timeColumn("granted", "Credit added", ({ granted_at: at }) => at, {
    sortValue: (purchase) => purchase.granted_at ?? "",
  }),
  {
    id: "id",
    label: "Purchase ID",
    render: (purchase) => <Copyable value={purchase.purchase_id} label="purchase ID" short />,
  },
  { id: "receipt", label: "Receipt", render: (purchase) => <Receipt purchase={purchase} /> },
];

export function PurchaseState({ purchase }: { readonly purchase: Purchase }): ReactNode {
  const { label, tone } = purchaseMessage(purchase.status);
  return (
    <>
      <StatusBadge tone={tone}>{label}</StatusBadge>
      {purchase.is_automatic ? <Note>automatic</Note> : null}
      {purchase.is_test_money ? <Note>test money</Note> : null}
      {compareUsd(purchase.refunded_usd, "0") > 0 ? (
        <Note>
          refunded <Money usd={purchase.refunded_usd} headline />
        </Note>
      ) : null}
      {compareUsd(purchase.disputed_usd, "0") > 0 ? (
        <Note>
          disputed <Money usd={purchase.disputed_usd} headline />
        </Note>
      ) : null}
    </>
  );
}

function Note({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Text size="xs" c="dimmed">
      {children}
    </Text>
  );
}

/** Links to the receipt or, while the payment is open, to the page that polls the purchase. */
function Receipt({ purchase }: { readonly purchase: Purchase }): ReactNode {
  const { purchase_id: id, receipt, status } = purchase;
  if (receipt !== null) {
    return (
      <AppLink
        to="/billing/purchases/$purchaseId/receipt"
        params={{ purchaseId: id }}
        inherit
        aria-label={`Receipt ${receipt}`}
      >
        {receipt}
      </AppLink>
    );
  }
  if (purchaseMessage(status).isDecided) return "–";
  return (
    <AppLink to="/billing/return/$purchaseId" params={{ purchaseId: id }} inherit>
      Check again
    </AppLink>
  );
}
