import type { ReactElement } from "react";

import type { Overview } from "../../../../src/account/console-api/contract.ts";
import { AppLink, LinkButton } from "../../ui/app-link.tsx";
import { moneyColumn, numberColumn } from "../../ui/columns.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { NameLine } from "../../ui/name-line.tsx";
import { TablePanel } from "../../ui/table-panel.tsx";

type TopModel = Overview["top_models"][number];

export function TopModels({ models }: { readonly models: readonly TopModel[] }): ReactElement {
  return (
    <TablePanel
      title="Top models, last 30 days"
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
  numberColumn("requests", "Requests", ({ requests }) => requests, {
    isSortable: true,
    phone: "line",
  }),
  moneyColumn("spent", "Spent", ({ spent_usd }) => spent_usd, { isSortable: true, phone: "end" }),
];
