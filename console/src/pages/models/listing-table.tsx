import { useMemo } from "react";

import type { ListingFigures, ListingTrust, ModelProvider, Provider } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { numberColumn, column } from "../../ui/columns.tsx";
import { formatShare } from "../../ui/format.ts";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import kit from "../../ui/kit.module.css";
import { NameLine } from "../../ui/name-line.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { PolicyLinks, ProviderStatus } from "../providers/provider-status.tsx";
import { substitutedShare } from "../providers/provider-labels.ts";
import { ListingVerdict, useTrusts } from "../verification/trust-badges.tsx";
import { orderLabel } from "../verification/verification-labels.ts";
import { CheckedNote, LoggingBadge } from "./model-badges.tsx";
import { capacityLabel, countryNames } from "./model-labels.ts";
import { defaultLabel, showPrice, SKU_NAMES, SKUS, tokenPrice, type Sku } from "./price-labels.ts";
import styles from "./models.module.css";
import { useIsSignedIn, useServed } from "./use-served.ts";

type Row = ModelProvider & {
  readonly model: string;
  readonly place: number;
  readonly known: Provider | undefined;
  readonly trust: ListingTrust | undefined;
  readonly figures: ListingFigures | undefined;
};

export function ListingTable(props: {
  readonly model: string;
  readonly listings: readonly ModelProvider[];
}) {
  const { model, listings } = props;
  const providers = useAnswer("GET /api/providers.json").data?.providers;
  const isSignedIn = useIsSignedIn();
  const trusts = useTrusts({ model });
  const served = useServed()?.of;
  const rows = useMemo(
    () =>
      listings.map((listing, at) => ({
        ...listing,
        model,
        place: at + 1,
        known: providers?.find(({ id }) => id === listing.provider),
        trust: trusts?.find(({ provider }) => provider === listing.provider),
        figures: served?.get(model)?.byProvider.get(listing.provider),
      })),
    [model, listings, providers, trusts, served],
  );
  return (
    <DataTable
      caption="Providers of this model, in routing order"
      kept={KEPT}
      columns={isSignedIn ? COLUMNS : PUBLIC_COLUMNS}
      rows={rows}
      rowKey={({ provider, place }) => `${place}-${provider}`}
    />
  );
}

function ReportedModel(props: { readonly provider: Provider | undefined; readonly model: string }) {
  const { provider, model } = props;
  if (provider === undefined) return <>–</>;
  const found = provider.substitutions.find((each) => each.model === model);
  if (found === undefined) return <>as listed</>;
  const { served_model, share_24h: share } = found;
  return (
    <>
      <StatusBadge tone="warn">{served_model}</StatusBadge>
      <span className={styles.priceNote}>{substitutedShare(share)}</span>
    </>
  );
}

const KEPT: Kept = { id: "listings", rows: ["provider", "providers"] };

/** The prices that come first and are always shown. */
const FIRST: ReadonlySet<Sku> = new Set(["prompt", "completion"]);

const VERDICT = "verdict";

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "provider",
    label: "Provider",
    phone: "lead",
    render: ({ provider, name }) => (
      <NameLine
        of={provider}
        name={name}
        link={{
          to: "/providers/$providerId",
          params: { providerId: provider },
          fw: 500,
          className: styles.nowrap,
        }}
      />
    ),
  },
  column("place", "Order", ({ place, trust }) => orderLabel(place, trust), { align: "right" }),
  column(
    "status",
    "Status",
    ({ known }) => (known === undefined ? "–" : <ProviderStatus status={known.status} />),
    { phone: "end" },
  ),
  column(
    VERDICT,
    "Verdict",
    ({ trust }) => (trust === undefined ? "–" : <ListingVerdict trust={trust} />),
    { phone: "line" },
  ),
  column(
    "reported",
    "Model reported",
    ({ known, model }) => <ReportedModel provider={known} model={model} />,
    { shownFrom: "wide" },
  ),
  column("logging", "Prompt logging", (listing) => <LoggingBadge listings={[listing]} />),
  column("datacenters", "Data centers", ({ datacenters }) => countryNames(datacenters), {
    shownFrom: "wide",
  }),
  ...Array.from(new Set([...FIRST, ...SKUS]), priceColumn),
  numberColumn("speed", "Tokens / s", ({ figures }) => figures?.tokens_per_second, {
    phone: "line",
    shownFrom: "asked",
    isSortable: true,
  }),
  numberColumn("uptime", "Uptime", ({ figures }) => figures?.uptime, {
    show: formatShare,
    phone: "line",
    shownFrom: "wide",
    isSortable: true,
  }),
  numberColumn("context", "Context", ({ context_length }) => context_length, { shownFrom: "wide" }),
  numberColumn(
    "output",
    "Max output",
    // If a listing bills by image or second, `max_output_tokens` only bounds the cost.
    ({ billing, max_output_tokens }) => (billing === "token" ? max_output_tokens : null),
    { shownFrom: "wide" },
  ),
  {
    id: "checked",
    label: "Prices checked",
    shownFrom: "asked",
    render: (listing) => (
      <span className={styles.nowrap}>
        <CheckedNote listing={listing} />
      </span>
    ),
  },
  column("quantization", "Quantization", ({ quantization }) => quantization ?? "–", {
    shownFrom: "asked",
  }),
  column(
    "capacity",
    "Capacity",
    ({ capacity }) => <div className={styles.wide}>{capacityLabel(capacity)}</div>,
    { shownFrom: "asked" },
  ),
  column(
    "policies",
    "Policies",
    ({ known }) => (known === undefined ? "–" : <PolicyLinks provider={known} />),
    { shownFrom: "asked" },
  ),
];

/** Visitors do not see verdicts, nor the routing order, which verdicts change. */
const PUBLIC_COLUMNS = COLUMNS.filter(({ id }) => id !== VERDICT && id !== "place");

function priceColumn(sku: Sku): Column<Row> {
  const isFirst = FIRST.has(sku);
  return {
    id: sku,
    label: SKU_NAMES[sku],
    align: "right",
    ...(isFirst ? { phone: "line" } : { shownFrom: sku === "cached_prompt" ? "wide" : "asked" }),
    sortValue: (listing) => {
      const price = tokenPrice(listing, sku);
      return price === undefined ? undefined : parseUsd(price);
    },
    render: (listing) => {
      const price = tokenPrice(listing, sku);
      if (price === undefined) {
        return <span className={styles.priceNote}>{isFirst ? "As reported" : "–"}</span>;
      }
      const note = defaultLabel(listing, sku);
      return (
        <span className={kit.figures}>
          {showPrice(price)}
          {note === undefined ? null : <span className={styles.priceNote}>{note}</span>}
          {listing.price_tiers.length === 0 ? null : (
            <span className={styles.priceNote}>short prompts</span>
          )}
        </span>
      );
    },
  };
}
