import { SimpleGrid, Stack } from "@mantine/core";

import type { OperatorDesk, OperatorFound } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { formatCount } from "../../ui/format.ts";
import { moneyColumn, numberColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column, TablePanel } from "../../ui/data-table.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { addUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { SearchField, useSearchText } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";
import { dayLabel } from "../models/model-labels.ts";
import { OperatorPage } from "./operator-frame.tsx";
import { figureColumns } from "./organization-tables.tsx";

const REFRESH_MS = 60_000;
const TYPING_MS = 300;

export function OperatorDeskPage() {
  const desk = useAnswer("GET /api/operator/desk", undefined, { refetchMs: REFRESH_MS });
  return (
    <OperatorPage
      title="Operator"
      crumbs={[]}
      lead="The whole installation, for its operators. Customers never see these pages."
    >
      <LookUp />
      <Answer of={desk} rows={12}>
        {(found) => <Business desk={found} />}
      </Answer>
    </OperatorPage>
  );
}

function LookUp() {
  const [search, change] = useFilters<{ q?: string }>();
  const [typed, ask] = useSearchText(
    search.q,
    (text) => change({ q: text }, { history: "typed" }),
    TYPING_MS,
  );
  const q = (search.q ?? "").trim();
  const found = useAnswer(
    "GET /api/operator/look-up",
    { query: { q } },
    { enabled: q !== "", isRecorded: true },
  );
  return (
    <Panel title="Look up">
      <Stack gap="md">
        <SearchField
          label="Request ID, email, key, purchase or receipt"
          value={typed}
          onChange={ask}
        />
        {q === "" ? null : (
          <Answer of={found} rows={2}>
            {({ data }) => (
              <DataTable
                caption="Found"
                columns={FOUND}
                rows={data}
                rowKey={({ kind, id, org_id: org }) => `${kind} ${id} ${org}`}
                empty="Nothing has this ID, address or beginning."
              />
            )}
          </Answer>
        )}
      </Stack>
    </Panel>
  );
}

const FOUND: readonly Column<OperatorFound>[] = [
  column("what", "Found", ({ kind, id, label, org_id: orgId }) =>
    kind === "request" ? (
      <AppLink
        to="/operator/organizations/$orgId/requests/$requestId"
        params={{ orgId, requestId: id }}
        size="sm"
      >
        {label}
      </AppLink>
    ) : (
      label
    ),
  ),
  column("id", "ID", ({ id }) => id),
  column("org", "Organization", ({ org_id: orgId, org_name: name }) => (
    <OrgLink orgId={orgId} name={name} />
  )),
];

export function OrgLink({ orgId, name }: { readonly orgId: string; readonly name: string }) {
  return (
    <AppLink to="/operator/organizations/$orgId" params={{ orgId }} size="sm">
      {name}
    </AppLink>
  );
}

function Business({ desk }: { readonly desk: OperatorDesk }) {
  const { days, organizations, providers, empty, until } = desk;
  const requests = days.reduce((sum, day) => sum + day.requests, 0);
  const failed = days.reduce((sum, day) => sum + day.failed_requests, 0);
  const share =
    requests === 0 ? "No requests" : `${((100 * failed) / requests).toFixed(1)}% failed`;
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <FigureCard label="Requests" value={formatCount(requests)} hint={share} />
        <FigureCard
          label="Spend"
          value={<Money usd={addUsd(...days.map((day) => day.spend_usd))} headline />}
          hint="Charged to customers"
        />
        <FigureCard
          label="Margin"
          value={<Money usd={addUsd(...days.map((day) => day.margin_usd))} headline />}
          hint="After providers"
        />
        <FigureCard
          label="Out of credit"
          value={formatCount(desk.out_of_credit)}
          hint="Organizations with less than a cent"
        />
      </SimpleGrid>
      <Note>
        Seven UTC days and today.{" "}
        {until === null ? (
          "No hour is counted yet."
        ) : (
          <>
            Counted up to <Time at={until} />.
          </>
        )}
      </Note>
      <TablePanel
        title="Days"
        columns={DAYS}
        rows={days}
        rowKey={({ day }) => day}
        empty="No calls yet. An hour is counted soon after it is over."
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <TablePanel
          title="Providers in trouble"
          caption="Providers that failed a tenth of their calls in the last day"
          columns={PROVIDERS}
          rows={providers}
          rowKey={({ provider }) => provider}
          empty="No provider failed a tenth of its calls in the last day."
        />
        <TablePanel
          title="Out of credit"
          caption="Organizations that had credit and have less than a cent"
          columns={EMPTY}
          rows={empty}
          rowKey={({ org_id: id }) => id}
          empty="Every organization that had credit has some."
        />
      </SimpleGrid>
      <TablePanel
        title="Top organizations"
        caption="Organizations by spend"
        columns={TOP}
        rows={organizations}
        rowKey={({ org_id: id }) => id}
        empty="No organization has made a call yet."
      />
    </>
  );
}

const PROVIDERS: readonly Column<OperatorDesk["providers"][number]>[] = [
  column("provider", "Provider", ({ provider }) => (
    <AppLink to="/providers/$providerId" params={{ providerId: provider }} size="sm">
      {provider}
    </AppLink>
  )),
  numberColumn("attempts", "Calls", ({ attempts }) => attempts),
  numberColumn("failed", "Failed", ({ failed }) => failed),
];

const EMPTY: readonly Column<OperatorDesk["empty"][number]>[] = [
  column("org", "Organization", ({ org_id: orgId, name }) => <OrgLink orgId={orgId} name={name} />),
  moneyColumn("balance", "Balance", ({ balance_usd: usd }) => usd),
];

const DAYS: readonly Column<OperatorDesk["days"][number]>[] = [
  column("day", "Day", ({ day }) => dayLabel(day)),
  ...figureColumns(),
];

const TOP: readonly Column<OperatorDesk["organizations"][number]>[] = [
  column("org", "Organization", ({ org_id, name }) => <OrgLink orgId={org_id} name={name} />),
  ...figureColumns(),
];
