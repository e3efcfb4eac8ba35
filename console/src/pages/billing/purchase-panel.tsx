import { Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Purchase } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { compareUsd, parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { purchaseMessage } from "./purchase-message.ts";

/** Lists every purchase, including failed and abandoned ones. */
export function PurchasePanel(props: { readonly purchases: readonly Purchase[] }): ReactNode {
  return (
    <Panel title="Purchases">
      <DataTable
        caption="All purchases"
        columns={COLUMNS}
        rows={props.purchases}
        rowKey={(purchase) => purchase.purchase_id}
        empty={<Empty title="No purchases yet." />}
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<Purchase>[] = [
  {
    id: "at",
    label: "Created",
    render: (purchase) => <Time at={purchase.created_at} />,
    sortValue: (purchase) => purchase.created_at,
  },
  {
    id: "amount",
    label: "Amount",
    align: "right",
    render: (purchase) => <Money usd={purchase.amount_usd} headline />,
    sortValue: (purchase) => parseUsd(purchase.amount_usd),
  },
  {
    id: "status",
    label: "Status",
    render: (purchase) => <PurchaseState purchase={purchase} />,
    sortValue: (purchase) => purchase.status,
  },
  {
    id: "granted",
    label: "Credit added",
    render: ({ granted_at: at }) => (at === null ? "–" : <Time at={at} />),
    sortValue: (purchase) => purchase.granted_at ?? "",
  },
  {
    id: "id",
    label: "Purchase ID",
    render: (purchase) => <Copyable value={purchase.purchase_id} label="purchase ID" short />,
  },
  { id: "receipt", label: "Receipt", render: (purchase) => <Receipt purchase={purchase} /> },
];

/** The purchase's status, and notes about refunds, disputes and test money. */
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

/** A link to the receipt; while the payment is open, to the page that polls it. */
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
