import type { ReactElement } from "react";

import type { Overview } from "../../../../src/account/console-api/contract.ts";
import { AppLink, LinkButton } from "../../ui/app-link.tsx";
import { formatCount } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Money } from "../../ui/money.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { NameLine } from "../../ui/name-line.tsx";
import { Panel } from "../../ui/panel.tsx";

type TopModel = Overview["top_models"][number];

/** The models with the most spend in the last 30 days. */
export function TopModels({ models }: { readonly models: readonly TopModel[] }): ReactElement {
  return (
    <Panel title="Top models, last 30 days">
      <DataTable
        caption="Models by spend in the last 30 days"
        columns={COLUMNS}
        rows={models}
        rowKey={({ model }) => model}
        empty={
          <Empty
            title="Your most used models appear here."
            action={
              <LinkButton to="/models" variant="default">
                View models
              </LinkButton>
            }
          />
        }
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<TopModel>[] = [
  {
    id: "model",
    label: "Model",
    phone: "lead",
    render: ({ model, name }) => (
      <NameLine
        of={model}
        name={name}
        link={
          <AppLink to="/usage" search={{ model, range: "30d" }} size="sm">
            {name}
          </AppLink>
        }
      />
    ),
    sortValue: ({ name }) => name,
  },
  {
    id: "requests",
    label: "Requests",
    phone: "line",
    align: "right",
    render: ({ requests }) => formatCount(requests),
    sortValue: ({ requests }) => requests,
  },
  {
    id: "spent",
    label: "Spent",
    phone: "end",
    align: "right",
    render: ({ spent_usd }) => <Money usd={spent_usd} />,
    sortValue: ({ spent_usd }) => parseUsd(spent_usd),
  },
];
