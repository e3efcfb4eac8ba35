import type { StatementSummary } from "../../api/contract.ts";
import { monthName } from "../../../../src/kernel/core/document-words.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink, LinkButton } from "../../ui/app-link.tsx";
import { moneyColumn, timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Page, Panel } from "../../ui/page.tsx";

const LEAD =
  "One statement for each UTC month: opening balance, credit, usage by model and key, closing balance.";

export function StatementsPage() {
  const answer = useAnswer("GET /api/console/statements");
  return (
    <Page
      title="Statements"
      lead={LEAD}
      crumbs={[{ label: "Billing", to: "/billing" }]}
      actions={
        <LinkButton to="/billing/company" size="xs">
          Company data
        </LinkButton>
      }
    >
      <Panel title="Months">
        <Answer of={answer} rows={4}>
          {({ data }) => (
            <DataTable
              caption="Monthly statements"
              columns={COLUMNS}
              rows={data}
              rowKey={({ month }) => month}
            />
          )}
        </Answer>
      </Panel>
    </Page>
  );
}

const STATES: Readonly<Record<StatementSummary["state"], string>> = {
  so_far: "So far",
  closing: "Closes within six hours",
  due: "Closed when you open it",
  closed: "Closed",
};

const COLUMNS: readonly Column<StatementSummary>[] = [
  column("month", "Month", ({ month }) => (
    <AppLink to="/billing/statements/$month" params={{ month }}>
      {monthName(month)}
    </AppLink>
  )),
  column("number", "Number", ({ number }) => number ?? "–"),
  column("state", "State", ({ state }) => STATES[state]),
  timeColumn("closed", "Closed", ({ closed_at: at }) => at),
  moneyColumn("closing", "Closing balance", ({ closing_usd: usd }) => usd),
];
