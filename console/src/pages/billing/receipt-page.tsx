import { Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Receipt } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { Banner } from "../../ui/banner.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { PrintButton } from "./print-button.tsx";
import { receiptLines, type ReceiptLine } from "./receipt-lines.ts";
import { StatementParties } from "./statement-parties.tsx";
import styles from "./statement.module.css";

/** `/billing/purchases/$purchaseId/receipt`: what was paid, to read and to print. */
export function ReceiptPage(): ReactNode {
  const { purchaseId = "" } = useParams({ strict: false }) as { readonly purchaseId?: string };
  const params = { purchase_id: purchaseId };
  const answer = useAnswer("GET /api/console/purchases/:purchase_id/receipt", { params });
  return (
    <Page
      title="Receipt"
      crumbs={[{ label: "Billing", to: "/billing" }]}
      actions={
        <div className={styles.actions}>
          <PrintButton />
        </div>
      }
    >
      <Answer of={answer} skeleton={<Loading rows={6} />}>
        {(receipt) => <ReceiptSheet receipt={receipt} />}
      </Answer>
    </Page>
  );
}

function ReceiptSheet({ receipt }: { readonly receipt: Receipt }): ReactNode {
  return (
    <Stack gap="lg" className={styles.sheet}>
      {receipt.is_test_money ? (
        <Banner tone="warn">Test money: no payment was made for this purchase.</Banner>
      ) : null}
      <Panel title="Parties">
        <StatementParties company={receipt.company} issuer={receipt.issuer} />
      </Panel>
      <Panel title="Payment">
        <DataTable
          caption="Payment"
          columns={COLUMNS}
          rows={receiptLines(receipt)}
          rowKey={({ label }) => label}
        />
      </Panel>
      <Text size="sm" c="dimmed">
        This receipt confirms {receipt.is_test_money ? "a test purchase" : "a payment"} for prepaid
        credit. It is not a tax invoice. Names and addresses are those of today.
      </Text>
    </Stack>
  );
}

const COLUMNS: readonly Column<ReceiptLine>[] = [
  { id: "label", label: "Detail", render: ({ label }) => label },
  {
    id: "text",
    label: "Value",
    render: ({ text }) => <span className={styles.hash}>{text}</span>,
  },
];
