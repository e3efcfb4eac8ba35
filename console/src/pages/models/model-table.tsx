import { useMemo, type ReactNode } from "react";

import type { ListingFigures, Model, ModelProvider } from "../../api/contract.ts";
import { CopyIcon } from "../../ui/copyable.tsx";
import { formatMs, formatPart, formatShare } from "../../ui/format.ts";
import { numberColumn, column, figuresColumn } from "../../ui/columns.tsx";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import kit from "../../ui/kit.module.css";
import { parseUsd } from "../../ui/money-math.ts";
import { NameLine } from "../../ui/name-line.tsx";
import { PickBox, type Picks } from "./compare-bar.tsx";
import { NewsLine } from "./model-badges.tsx";
import { fittingListings, type ModelSearch } from "./model-filters.ts";
import { dayLabel, loggingLabel, shortTokens } from "./model-labels.ts";
import styles from "./models.module.css";
import { lowestPrice, paidPrice, priceLine, showPrice, type Sku } from "./price-labels.ts";
import { servedFirst } from "./served.ts";
import type { ServedFor } from "./use-served.ts";

export interface ModelTableProps {
  readonly models: readonly Model[];
  readonly search: ModelSearch;
  readonly picks: Picks;
  readonly served: ServedFor | undefined;
  readonly isNarrow: boolean;
  readonly onNone: ReactNode;
}

const KEPT: Kept = { id: "models", rows: ["model", "models"] };

export function ModelTable(props: ModelTableProps) {
  const { models, search, picks, served, isNarrow, onNone } = props;
  const rows = useMemo(
    () => models.map((model) => rowOf(model, search, served)),
    [models, search, served],
  );
  const columns = useMemo(() => columnsFor(picks, served, isNarrow), [picks, served, isNarrow]);
  return (
    <DataTable
      caption="Models"
      kept={KEPT}
      columns={columns}
      rows={rows}
      rowKey={({ model }) => model.id}
      empty={<Empty title="No models match these filters." action={onNone} />}
    />
  );
}

/** A model with its matching providers. Its prices and figures are those of the first one. */
interface Row {
  readonly model: Model;
  readonly listings: readonly ModelProvider[];
  readonly figures: ListingFigures | undefined;
  readonly share: number | undefined;
}

function rowOf(model: Model, search: ModelSearch, served: ServedFor | undefined): Row {
  const listings = fittingListings(model, search, served?.of);
  const figures = servedFirst(served?.of, { id: model.id, providers: listings });
  return { model, listings, figures, share: served?.of.get(model.id)?.share };
}

function columnsFor(
  picks: Picks,
  served: ServedFor | undefined,
  isNarrow: boolean,
): readonly Column<Row>[] {
  return [
    column("model", "Model", ({ model }) => <ModelName model={model} picks={picks} />, {
      sharePercent: 40,
      phone: "lead",
      sortValue: ({ model }) => model.name,
    }),
    column("context", "Context", ({ model }) => shortTokens(model.context_length), {
      align: "right",
      phone: "line",
      sortValue: ({ model }) => model.context_length ?? undefined,
    }),
    priceColumn("prompt", "Input / M"),
    priceColumn("completion", "Output / M"),
    ...(served === undefined ? [] : SERVED_COLUMNS).map((each) =>
      isNarrow && each.id !== "speed" ? { ...each, shownFrom: "wide" as const } : each,
    ),
    numberColumn("providers", "Providers", ({ model }) => model.providers.length, {
      isSortable: true,
      shownFrom: "wide",
    }),
    column(
      "logging",
      "Prompts",
      ({ listings }) => <span className={kit.figures}>{loggingLabel(listings).word}</span>,
      { shownFrom: "wide", sortValue: ({ listings }) => loggingLabel(listings).word },
    ),
    figuresColumn(
      "released",
      "Released",
      ({ model: { released } }) => (released === null ? "–" : dayLabel(released)),
      { shownFrom: "wide", sortValue: ({ model }) => model.released ?? undefined },
    ),
  ];
}

function ModelName({ model, picks }: Pick<Row, "model"> & { readonly picks: Picks }) {
  const { id, name, description } = model;
  return (
    <div className={styles.rowName}>
      <PickBox model={model} picks={picks} />
      <NameLine
        of={id}
        name={name}
        link={{ to: "/models/$", params: { _splat: id }, fw: 500 }}
        badges={<CopyIcon value={id} label="model ID" />}
        note={
          <span title={description}>
            <NewsLine model={model} /> {description}
          </span>
        }
      />
    </div>
  );
}

/**
 * Figures of the first provider in the last 30 days. Only the share of calls covers all providers.
 */
const SERVED_COLUMNS: readonly Column<Row>[] = [
  numberColumn("speed", "Tokens / s", ({ figures }) => figures?.tokens_per_second, {
    isSortable: true,
  }),
  numberColumn("ttft", "First token", ({ figures }) => figures?.ttft_p50_ms, {
    show: formatMs,
    shownFrom: "wide",
    isSortable: true,
  }),
  numberColumn("uptime", "Uptime", ({ figures }) => figures?.uptime, {
    show: formatShare,
    isSortable: true,
  }),
  numberColumn("popular", "Share of calls", ({ share }) => share, {
    show: formatPart,
    isSortable: true,
  }),
];

/** If a listing is not billed by token, its output price is the first line of its price card. */
function priceColumn(sku: Sku, label: string): Column<Row> {
  return column(sku, label, ({ listings }) => <Price listings={listings} sku={sku} />, {
    align: "right",
    phone: "line",
    sortValue: ({ listings }) => {
      const price = paidPrice(listings, sku);
      return price === undefined ? undefined : parseUsd(price);
    },
  });
}

function Price(props: Pick<Row, "listings"> & { readonly sku: Sku }) {
  const { listings, sku } = props;
  const paid = paidPrice(listings, sku);
  const lowest = lowestPrice(listings, sku);
  if (paid === undefined) {
    const card = sku === "completion" ? priceLine(listings) : "–";
    return <span className={kit.figures}>{card}</span>;
  }
  return (
    <span className={kit.figures}>
      {showPrice(paid)}
      {lowest === undefined || parseUsd(lowest) === parseUsd(paid) ? null : (
        <span className={styles.priceNote}>from {showPrice(lowest)}</span>
      )}
    </span>
  );
}
