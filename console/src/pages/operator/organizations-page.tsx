import { Group, Stack } from "@mantine/core";

import type { OperatorOrg } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink, LinkButton } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { moneyColumn, timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { SearchField, useSearchText } from "../../ui/search-field.tsx";
import { OperatorPage } from "./operator-frame.tsx";

const TYPING_MS = 250;

export function OperatorOrganizationsPage() {
  const [search, change] = useFilters<{ q?: string; cursor?: string }>();
  const [typed, ask] = useSearchText(
    search.q,
    (text) => change({ q: text, cursor: "" }, { history: "typed" }),
    TYPING_MS,
  );
  const { q, cursor } = search;
  const found = useAnswer("GET /api/operator/organizations", { query: { q, cursor } });
  return (
    <OperatorPage title="Organizations">
      <Panel>
        <Stack gap="md">
          <SearchField label="Search by name, email or ID" value={typed} onChange={ask} />
          <Answer of={found} rows={12}>
            {({ data, next_cursor: next }) => (
              <>
                <DataTable
                  caption="Organizations"
                  columns={COLUMNS}
                  rows={data}
                  rowKey={({ org_id: id }) => id}
                  empty="No organizations match this search."
                />
                {next === null ? null : (
                  <Group justify="center">
                    <LinkButton to="/operator/organizations" search={{ q, cursor: next }}>
                      Older
                    </LinkButton>
                  </Group>
                )}
              </>
            )}
          </Answer>
        </Stack>
      </Panel>
    </OperatorPage>
  );
}

export const CREDIT_LABELS = {
  none: "None yet",
  trial: "Trial credit",
  granted: "Granted",
  bought: "Bought",
} as const;

const COLUMNS: readonly Column<OperatorOrg>[] = [
  {
    id: "name",
    label: "Organization",
    phone: "lead",
    sortValue: ({ name }) => name,
    render: ({ org_id: orgId, name, email }) => (
      <>
        <AppLink to="/operator/organizations/$orgId" params={{ orgId }} size="sm" fw={500}>
          {name}
        </AppLink>
        <Note size="xs">{email}</Note>
      </>
    ),
  },
  moneyColumn("balance", "Balance", ({ balance_usd: usd }) => usd, {
    isBrief: true,
    isSortable: true,
    phone: "end",
  }),
  moneyColumn("spent", "Spent this month", ({ spent_month_usd: usd }) => usd, {
    isBrief: true,
    isSortable: true,
    phone: "line",
  }),
  column("credit", "Credit", ({ credit }) => CREDIT_LABELS[credit], { phone: "line" }),
  column(
    "restrictions",
    "Restrictions",
    ({ restrictions: count }) =>
      count === 0 ? null : <StatusBadge tone="warn">{count}</StatusBadge>,
    { phone: "plain" },
  ),
  timeColumn("created", "Created", ({ created_at: at }) => at, { precision: "day" }),
];
