import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { ModelProvider } from "../../../../src/account/console-api/contract.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import kit from "../../ui/kit.module.css";
import { Panel } from "../../ui/panel.tsx";
import { showPrice, skuName, SKUS } from "./price-labels.ts";
import { priceRows, type PriceRow } from "./price-rows.ts";

/** Shows prices that depend on the prompt's size or the date. Renders nothing without them. */
export function PriceSheetPanel(props: {
  readonly listings: readonly ModelProvider[];
}): ReactElement | null {
  const rows = priceRows(props.listings);
  if (rows.length === 0) return null;
  return (
    <Panel title={TITLE}>
      <Text size="sm" c="dimmed" mb="sm">
        The size of the whole prompt, including cached tokens, sets the price of every token in the
        request and its answer. The prices at the time the request was admitted apply.
      </Text>
      <DataTable caption={TITLE} columns={columnsFor(rows)} rows={rows} rowKey={({ key }) => key} />
    </Panel>
  );
}

const TITLE = "Prices by prompt size and date";

function columnsFor(rows: readonly PriceRow[]): readonly Column<PriceRow>[] {
  const skus = SKUS.filter((sku) => rows.some(({ prices }) => prices[sku] !== undefined));
  return [
    { id: "provider", label: "Provider", render: ({ provider }) => provider },
    { id: "when", label: "When", render: ({ when }) => when },
    { id: "prompts", label: "Prompts", render: ({ prompts }) => prompts },
    ...skus.map((sku): Column<PriceRow> => ({
      id: sku,
      label: skuName(sku),
      align: "right",
      render: ({ prices }) => {
        const price = prices[sku];
        return (
          <span className={kit.figures}>
            {price === undefined ? "Not offered" : showPrice(price)}
          </span>
        );
      },
    })),
  ];
}
