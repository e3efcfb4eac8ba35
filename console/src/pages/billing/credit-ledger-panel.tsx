import type { CreditEntry } from "../../api/contract.ts";
import { call } from "../../api/client.ts";
import { column, moneyColumn } from "../../ui/columns.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { usePages, OlderPages } from "../../ui/older-pages.tsx";
import { DownloadLink } from "../../ui/buttons.tsx";

const PAGE_LINES = 50;

export function CreditLedgerPanel() {
  const ledger = usePages<CreditEntry>([ROUTE, "pages"], async (cursor, signal) => {
    const query = { limit: PAGE_LINES, ...(cursor === null ? {} : { cursor }) };
    const { data, next_cursor: next } = await call(ROUTE, { query, signal });
    return { data, next };
  });
  return (
    <Panel
      title="Credit ledger"
      actions={<DownloadLink href="/api/console/credit-ledger.csv">Download CSV</DownloadLink>}
    >
      <OlderPages of={ledger} rows={6}>
        {(lines) => (
          <>
            <Note>
              The entries add up to your balance. All requests of a UTC day are one entry; the usage
              log lists each request.
            </Note>
            <DataTable
              caption="Entries of the credit ledger"
              columns={COLUMNS}
              rows={lines}
              rowKey={({ kind, ref, at }) => `${kind} ${ref} ${at}`}
              empty="No entries yet"
            />
          </>
        )}
      </OlderPages>
    </Panel>
  );
}

const ROUTE = "GET /api/console/credit-ledger";

const COLUMNS: readonly Column<CreditEntry>[] = [
  column("at", "Date", ({ kind, at }) => (
    <Time at={at} precision={kind === "usage" ? "day" : "minute"} />
  )),
  column("kind", "Type", ({ kind }) => <Kind kind={kind} />),
  column("ref", "Reference", ({ kind, ref }) =>
    kind === "usage" ? ref : <Copyable value={ref} label="reference" short />,
  ),
  moneyColumn("amount", "Amount", ({ amount_usd: usd }) => usd, { signed: true, isSortable: true }),
];

/** Says under granted credit that there is no receipt, because nobody paid for it. */
function Kind({ kind }: Pick<CreditEntry, "kind">) {
  const isGiven = kind === "grant" || kind === "welcome";
  return (
    <>
      {KIND_LABELS[kind]}
      {isGiven ? <Note size="xs">no payment, no receipt</Note> : null}
    </>
  );
}

const KIND_LABELS: Readonly<Record<CreditEntry["kind"], string>> = {
  purchase: "Purchase",
  grant: "Credit grant",
  welcome: "Welcome credit",
  refund: "Refund",
  refund_reversal: "Refund reversed",
  dispute: "Dispute",
  dispute_reversal: "Dispute won",
  usage: "Usage for the day",
  correction: "Correction",
  other: "Other",
};
