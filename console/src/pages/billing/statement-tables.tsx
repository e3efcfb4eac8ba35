import type { ReactNode } from "react";

import type { Statement } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { moneyColumn, numberColumn, timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Panel } from "../../ui/panel.tsx";
import { TablePanel } from "../../ui/table-panel.tsx";

export function StatementTables({ statement }: { readonly statement: Statement }): ReactNode {
  const noUsage = <Empty title="No usage in this month" />;
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
        <Panel title="Credit, refunds and disputes">
          <DataTable
            caption="Credit, refunds and disputes"
            columns={LINE_COLUMNS}
            rows={statement.lines}
            rowKey={({ at, kind, ref }) => `${at} ${kind} ${ref}`}
          />
          {statement.lines_left_out === 0
            ? null
            : `And ${statement.lines_left_out} more, in the totals only.`}
        </Panel>
      )}
      <TablePanel
        title="Usage by model"
        columns={[{ id: "model", label: "Model", render: ({ model }) => model }, ...usage()]}
        rows={statement.models}
        rowKey={({ model }) => model}
        empty={noUsage}
      />
      <TablePanel
        title="Usage by key"
        columns={[{ id: "key", label: "Key", render: ({ name }) => name }, ...usage()]}
        rows={statement.keys}
        rowKey={({ key_id: id }) => id}
        empty={noUsage}
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
  { id: "label", label: "Line", render: ({ label }) => label },
  moneyColumn("usd", "Amount", ({ usd }) => usd, { isBrief: true }),
];

const LINE_COLUMNS: readonly Column<Statement["lines"][number]>[] = [
  timeColumn("at", "Date", ({ at }) => at),
  { id: "kind", label: "Type", render: ({ kind }) => KINDS[kind] ?? "Other" },
  {
    id: "ref",
    label: "Reference",
    render: ({ ref, receipt }) =>
      receipt === null ? (
        ref
      ) : (
        <AppLink to="/billing/purchases/$purchaseId/receipt" params={{ purchaseId: ref }} inherit>
          Receipt {receipt}
        </AppLink>
      ),
  },
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
