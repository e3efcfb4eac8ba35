import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { ModelProvider } from "../../../../src/account/console-api/contract.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import kit from "../../ui/kit.module.css";
import { Panel } from "../../ui/panel.tsx";
import { cardLineLabel } from "./price-labels.ts";

interface Line {
  readonly key: string;
  readonly provider: string;
  readonly bills: string;
  readonly tier: string;
  readonly price: string;
}

export function PriceCard(props: {
  readonly listings: readonly ModelProvider[];
}): ReactElement | null {
  const lines = props.listings.flatMap(({ provider, name, price_card }) =>
    price_card.map((line, at) => ({
      key: `${provider}-${at}`,
      provider: name,
      bills: line.billable ?? line.unit,
      tier: line.variant ?? "–",
      price: cardLineLabel(line),
    })),
  );
  if (lines.length === 0) return null;
  return (
    <Panel title="Price card">
      <Text size="sm" c="dimmed" mb="sm">
        As published by the providers. Each request shows its actual cost.
      </Text>
      <DataTable caption="Price card" columns={COLUMNS} rows={lines} rowKey={({ key }) => key} />
    </Panel>
  );
}

const COLUMNS: readonly Column<Line>[] = [
  { id: "provider", label: "Provider", render: ({ provider }) => provider },
  { id: "bills", label: "Bills", render: ({ bills }) => bills },
  { id: "tier", label: "Tier", render: ({ tier }) => tier },
  {
    id: "price",
    label: "Price",
    align: "right",
    render: ({ price }) => <span className={kit.figures}>{price}</span>,
  },
];
