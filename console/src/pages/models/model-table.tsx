import { Group } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import type { Model, ModelProvider } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import kit from "../../ui/kit.module.css";
import { parseUsd } from "../../ui/money-math.ts";
import type { Sort } from "../../ui/sort-rows.ts";
import type { Kept } from "../../ui/use-table-state.ts";
import { PickBox, type Picks } from "./compare-bar.tsx";
import { ModelBadges } from "./model-badges.tsx";
import { fittingListings, type ModelSearch } from "./model-filters.ts";
import { dayLabel } from "./model-labels.ts";
import { orderOf } from "./model-order.ts";
import styles from "./models.module.css";
import { paidPrice, priceLine, shownPrice, type Sku } from "./price-labels.ts";
import type { Served, ServedModels } from "./served.ts";
import type { ServedFor } from "./use-served.ts";

export interface ModelTableProps {
  readonly models: readonly Model[];
  readonly search: ModelSearch;
  /** In the order of the address. */
  readonly onSort: (sort: Sort) => void;
  readonly picks: Picks;
  /** Undefined: it is not known how models were served, and no column says it. */
  readonly served: ServedFor | undefined;
}

const KEPT: Kept = { id: "models", rows: ["model", "models"] };

/** The same models as a table. */
export function ModelTable(props: ModelTableProps): ReactElement {
  const { models, search, onSort, picks, served } = props;
  const columns = useMemo(() => columnsFor(search, picks, served), [search, picks, served]);
  return (
    <DataTable
      caption="Models"
      kept={KEPT}
      columns={columns}
      rows={models}
      rowKey={({ id }) => id}
      sort={orderOf(search)}
      onSort={onSort}
    />
  );
}

function columnsFor(
  search: ModelSearch,
  picks: Picks,
  served: ServedFor | undefined,
): readonly Column<Model>[] {
  const fitting = (model: Model): readonly ModelProvider[] =>
    fittingListings(model, search, served?.of);
  return [
    {
      id: "model",
      label: "Model",
      sortValue: ({ name }) => name,
      render: (model) => (
        <div className={styles.rowName}>
          <PickBox model={model} picks={picks} isBare />
          <div className={styles.name}>
            <AppLink to="/models/$" params={{ _splat: model.id }} size="sm" fw={500}>
              {model.name}
            </AppLink>
            <div>
              <Copyable value={model.id} label="model ID" />
            </div>
          </div>
        </div>
      ),
    },
    {
      id: "released",
      label: "Released",
      sortValue: ({ released }) => released ?? "",
      render: ({ released }) => (
        <span className={kit.figures}>{released === null ? "–" : dayLabel(released)}</span>
      ),
    },
    {
      id: "context",
      label: "Context",
      align: "right",
      sortValue: ({ context_length }) => context_length ?? 0,
      render: ({ context_length }) => (
        <span className={kit.figures}>
          {context_length === null ? "–" : formatCount(context_length)}
        </span>
      ),
    },
    priceColumn(fitting, "prompt", "Input / M"),
    priceColumn(fitting, "completion", "Output / M"),
    ...(served === undefined ? [] : servedColumns(served.of)),
    {
      id: "providers",
      label: "Providers",
      align: "right",
      sortValue: ({ providers }) => providers.length,
      render: ({ providers }) => formatCount(providers.length),
    },
    {
      id: "badges",
      label: "Notes",
      render: (model) => (
        <Group gap={6} wrap="nowrap">
          <ModelBadges model={model} />
        </Group>
      ),
    },
  ];
}

/** By the best of a model's providers, in the last 30 days. */
function servedColumns(served: ServedModels): readonly Column<Model>[] {
  const column = (
    of: { readonly id: string; readonly label: string },
    value: (served: Served) => number | null,
    text: (figure: number) => string,
  ): Column<Model> => {
    const figureOf = ({ id }: Model): number | null => {
      const known = served.get(id);
      return known === undefined ? null : value(known);
    };
    return {
      ...of,
      align: "right",
      shownFrom: "wide",
      sortValue: (model) => figureOf(model) ?? -1,
      render: (model) => {
        const figure = figureOf(model);
        return <span className={kit.figures}>{figure === null ? "–" : text(figure)}</span>;
      },
    };
  };
  return [
    column({ id: "ttft", label: "First token, p50" }, ({ ttftMs }) => ttftMs, formatMs),
    column(
      { id: "speed", label: "Tokens / s" },
      ({ tokensPerSecond }) => tokensPerSecond,
      (speed) => formatCount(Math.round(speed)),
    ),
    column({ id: "success", label: "Succeeded" }, ({ success }) => success, formatShare),
  ];
}

/** Where tokens are not what is billed, the price card's first line is shown for the output. */
function priceColumn(
  fitting: (model: Model) => readonly ModelProvider[],
  sku: Sku,
  label: string,
): Column<Model> {
  return {
    id: sku,
    label,
    align: "right",
    sortValue: (model) => {
      const price = paidPrice(fitting(model), sku);
      return price === undefined ? -1n : parseUsd(price);
    },
    render: (model) => {
      const listings = fitting(model);
      const price = paidPrice(listings, sku);
      if (price !== undefined) {
        return <span className={kit.figures}>{shownPrice(listings, sku)}</span>;
      }
      return (
        <span className={kit.figures}>{sku === "completion" ? priceLine(listings) : "–"}</span>
      );
    },
  };
}
