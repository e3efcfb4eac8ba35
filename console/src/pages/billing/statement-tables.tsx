import type { ReactNode } from "react";

import type { Statement } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { formatCount } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

/** The figures of a statement: how the balance changed, and what was used. */
export function StatementTables({ statement }: { readonly statement: Statement }): ReactNode {
  const noUsage = <Empty title="No usage in this month" />;
  return (
    <>
      <Panel title="Balance">
        <DataTable
          caption="How the balance changed"
          columns={BALANCE_COLUMNS}
          rows={listBalance(statement)}
          rowKey={({ label }) => label}
        />
      </Panel>
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
      <Panel title="Usage by model">
        <DataTable
          caption="Usage by model"
          columns={[{ id: "model", label: "Model", render: ({ model }) => model }, ...usage()]}
          rows={statement.models}
          rowKey={({ model }) => model}
          empty={noUsage}
        />
      </Panel>
      <Panel title="Usage by key">
        <DataTable
          caption="Usage by key"
          columns={[{ id: "key", label: "Key", render: ({ name }) => name }, ...usage()]}
          rows={statement.keys}
          rowKey={({ key_id: id }) => id}
          empty={noUsage}
        />
      </Panel>
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
  {
    id: "usd",
    label: "Amount",
    align: "right",
    render: ({ usd }) => <Money usd={usd} isBrief />,
  },
];

const LINE_COLUMNS: readonly Column<Statement["lines"][number]>[] = [
  { id: "at", label: "Date", render: ({ at }) => <Time at={at} precision="minute" /> },
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
  {
    id: "usd",
    label: "Amount",
    align: "right",
    render: ({ amount_usd: usd }) => <Money usd={usd} isBrief />,
  },
];

type Used = Pick<
  Statement["models"][number],
  "requests" | "input_tokens" | "output_tokens" | "cost_usd"
>;

function usage<T extends Used>(): readonly Column<T>[] {
  return [
    {
      id: "requests",
      label: "Requests",
      align: "right",
      render: ({ requests }) => formatCount(requests),
    },
    {
      id: "input",
      label: "Input tokens",
      align: "right",
      render: ({ input_tokens: tokens }) => formatCount(tokens),
    },
    {
      id: "output",
      label: "Output tokens",
      align: "right",
      render: ({ output_tokens: tokens }) => formatCount(tokens),
    },
    {
      id: "cost",
      label: "Cost",
      align: "right",
      render: ({ cost_usd: usd }) => <Money usd={usd} />,
    },
  ];
}
