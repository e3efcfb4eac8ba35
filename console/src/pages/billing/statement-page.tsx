import { Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";

import type { Statement } from "../../api/contract.ts";
import { monthName } from "../../../../src/kernel/core/document-words.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { Banner } from "../../ui/banner.tsx";
import { Note, Page, Panel } from "../../ui/page.tsx";
import { DocumentActions, StatementParties } from "./document-parts.tsx";
import styles from "./statement.module.css";
import { AppLink } from "../../ui/app-link.tsx";
import { moneyColumn, numberColumn, timeColumn, column } from "../../ui/columns.tsx";
import { type Column, TablePanel } from "../../ui/data-table.tsx";

export function StatementPage() {
  const { month = "" } = useParams({ strict: false });
  const answer = useAnswer("GET /api/console/statements/:month", { params: { month } });
  const base = `/api/console/statements/${encodeURIComponent(month)}/statement`;
  return (
    <Page
      title={`Statement of ${monthName(month)}`}
      crumbs={[
        { label: "Billing", to: "/billing" },
        { label: "Statements", to: "/billing/statements" },
      ]}
      actions={<DocumentActions base={base} formats={["pdf", "csv", "json"]} />}
    >
      <Answer of={answer} rows={8}>
        {(statement) => <StatementSheet statement={statement} />}
      </Answer>
    </Page>
  );
}

function StatementSheet({ statement }: { readonly statement: Statement }) {
  const { differences } = statement;
  return (
    <Stack gap="lg" className={styles.sheet}>
      {differences.length === 0 ? null : (
        <Banner tone="bad">
          The books differ from this closed statement: {differences.join("; ")}.
        </Banner>
      )}
      <Panel title={statement.number === null ? STATES[statement.state] : statement.number}>
        <StatementParties company={statement.company} issuer={statement.issuer} />
      </Panel>
      <StatementTables statement={statement} />
      <Note>
        Costs count in the UTC month in which they were charged: a request that began in one month
        and ended in the next is in the next, and so is a later correction. A closed statement does
        not change. {statement.has_left_journal ? LEFT : ""} Addresses are those of today.
      </Note>
      {statement.sha256 === null ? null : (
        <Note size="xs" className={styles.hash}>
          SHA-256 of the JSON file: {statement.sha256}
        </Note>
      )}
    </Stack>
  );
}

const LEFT =
  "Requests of this month have been archived since, so its usage is no longer compared with them.";

const STATES: Readonly<Record<Statement["state"], string>> = {
  so_far: "This month so far",
  closing: "Ended, closes within six hours",
  due: "Over",
  closed: "Closed",
};

function StatementTables({ statement }: { readonly statement: Statement }) {
  return (
    <>
      <TablePanel
        title="Balance"
        caption="How the balance changed"
        columns={BALANCE_COLUMNS}
        rows={listBalance(statement)}
        rowKey={({ label }) => label}
      />
      {statement.lines.length === 0 ? null : (
        <TablePanel
          title="Credit, refunds and disputes"
          columns={LINE_COLUMNS}
          rows={statement.lines}
          rowKey={({ at, kind, ref }) => `${at} ${kind} ${ref}`}
          note={
            statement.lines_left_out === 0
              ? null
              : `And ${statement.lines_left_out} more, in the totals only.`
          }
        />
      )}
      <TablePanel
        title="Usage by model"
        columns={MODEL_COLUMNS}
        rows={statement.models}
        rowKey={({ model }) => model}
        empty="No usage in this month"
      />
      <TablePanel
        title="Usage by key"
        columns={KEY_COLUMNS}
        rows={statement.keys}
        rowKey={({ key_id: id }) => id}
        empty="No usage in this month"
      />
    </>
  );
}

interface BalanceLine {
  readonly label: string;
  readonly usd: string;
}

function listBalance(statement: Statement): readonly BalanceLine[] {
  const { unlisted_usage_usd: unlisted } = statement;
  const isWhole = /^-?0\.0+$/.test(unlisted);
  return [
    { label: "Opening balance", usd: statement.opening_usd },
    ...statement.credits.map(({ kind, count, amount_usd: usd }) => ({
      label: `${KINDS[kind] ?? "Other"} (${count})`,
      usd,
    })),
    { label: "Usage", usd: negated(statement.usage_usd) },
    ...(isWhole
      ? []
      : [{ label: "Includes archived requests not listed below", usd: negated(unlisted) }]),
    { label: "Closing balance", usd: statement.closing_usd },
  ];
}

const KINDS: Readonly<Record<string, string>> = {
  purchase: "Purchases",
  grant: "Credit grants",
  refund: "Refunds",
  refund_reversal: "Refunds reversed",
  dispute: "Disputes",
  dispute_reversal: "Disputes won",
};

function negated(usd: string): string {
  if (/^0\.0+$/.test(usd)) return usd;
  return usd.startsWith("-") ? usd.slice(1) : `-${usd}`;
}

const BALANCE_COLUMNS: readonly Column<BalanceLine>[] = [
  column("label", "Line", ({ label }) => label),
  moneyColumn("usd", "Amount", ({ usd }) => usd, { isBrief: true }),
];

const LINE_COLUMNS: readonly Column<Statement["lines"][number]>[] = [
  timeColumn("at", "Date", ({ at }) => at),
  column("kind", "Type", ({ kind }) => KINDS[kind] ?? "Other"),
  column("ref", "Reference", ({ ref, receipt }) =>
    receipt === null ? (
      ref
    ) : (
      <AppLink to="/billing/purchases/$purchaseId/receipt" params={{ purchaseId: ref }}>
        Receipt {receipt}
      </AppLink>
    ),
  ),
  moneyColumn("usd", "Amount", ({ amount_usd: usd }) => usd, { isBrief: true }),
];

type Used = Pick<
  Statement["models"][number],
  "requests" | "input_tokens" | "output_tokens" | "cost_usd"
>;

function usage<T extends Used>(): readonly Column<T>[] {
  return [
    numberColumn("requests", "Requests", ({ requests }) => requests),
    numberColumn("input", "Input tokens", ({ input_tokens: tokens }) => tokens),
    numberColumn("output", "Output tokens", ({ output_tokens: tokens }) => tokens),
    moneyColumn("cost", "Cost", ({ cost_usd: usd }) => usd),
  ];
}

const MODEL_COLUMNS: readonly Column<Statement["models"][number]>[] = [
  column("model", "Model", ({ model }) => model),
  ...usage(),
];

const KEY_COLUMNS: readonly Column<Statement["keys"][number]>[] = [
  column("key", "Key", ({ name }) => name),
  ...usage(),
];
