import { Anchor, Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";

import type { Receipt } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { column } from "../../ui/columns.tsx";
import { Answer } from "../../ui/answer.tsx";
import { Banner } from "../../ui/banner.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";
import { Note, Page, Panel } from "../../ui/page.tsx";
import { DocumentActions, StatementParties } from "./document-parts.tsx";
import { paymentFacts, receiptLines, type Line } from "./receipt-lines.ts";
import styles from "./statement.module.css";

export function ReceiptPage() {
  const { purchaseId = "" } = useParams({ strict: false });
  const params = { purchase_id: purchaseId };
  const answer = useAnswer("GET /api/console/purchases/:purchase_id/receipt", { params });
  const base = `/api/console/purchases/${encodeURIComponent(purchaseId)}/receipt`;
  return (
    <Page
      title={answer.data === undefined ? "Receipt" : `Receipt ${answer.data.number}`}
      crumbs={[{ label: "Billing", to: "/billing" }]}
      actions={<DocumentActions base={base} formats={["pdf"]} />}
    >
      <Answer of={answer} rows={6}>
        {(receipt) => <ReceiptSheet receipt={receipt} />}
      </Answer>
    </Page>
  );
}

function ReceiptSheet({ receipt }: { readonly receipt: Receipt }) {
  const { provider_url: url } = receipt;
  return (
    <Stack gap="lg" className={styles.sheet}>
      {receipt.is_test_money ? (
        <Banner tone="warn">Test money: no payment was made for this purchase.</Banner>
      ) : null}
      <Panel title="Parties">
        <StatementParties
          company={receipt.company}
          issuer={receipt.issuer}
          buyer={receipt.buyer}
          isFrozen
        />
      </Panel>
      <TablePanel
        title="Payment"
        columns={FACT_COLUMNS}
        rows={paymentFacts(receipt)}
        rowKey={([label]) => label}
      />
      <TablePanel
        title="Paid"
        columns={LINE_COLUMNS}
        rows={receiptLines(receipt)}
        rowKey={({ label }) => label}
      />
      {url === null || !/^https?:\/\//i.test(url) ? null : (
        <Anchor href={url} target="_blank" rel="noreferrer" size="sm" className={styles.actions}>
          Receipt of the payment provider <ExternalLink size={12} aria-hidden />
        </Anchor>
      )}
      <Note>{receipt.no_tax_reason} Names and addresses are those of the day of payment.</Note>
    </Stack>
  );
}

const FACT_COLUMNS: readonly Column<readonly [string, string]>[] = [
  column("label", "Detail", ([label]) => label),
  column("text", "Value", ([, text]) => <span className={styles.hash}>{text}</span>),
];

const LINE_COLUMNS: readonly Column<Line>[] = [
  column("label", "Description", ({ label }) => label),
  column("quantity", "Quantity", ({ quantity = "" }) => quantity, { align: "right" }),
  column("usd", "Amount", ({ text }) => text, { align: "right" }),
];
