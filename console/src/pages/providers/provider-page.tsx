import { Group, Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";

import type { ListingTrust, Model, ModelProvider, Provider } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useIsSignedIn } from "../models/use-served.ts";
import { column, numberColumn } from "../../ui/columns.tsx";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import kit from "../../ui/kit.module.css";
import { NameLine } from "../../ui/name-line.tsx";
import { Page, Panel } from "../../ui/page.tsx";
import { CheckedNote, LoggingBadge } from "../models/model-badges.tsx";
import { FactList } from "../models/fact-list.tsx";
import { capacityLabel, countryNames, dayLabel } from "../models/model-labels.ts";
import styles from "../models/models.module.css";
import { priceLine } from "../models/price-labels.ts";
import { changeLabel, nextChange } from "../models/price-rows.ts";
import { ServedPanel } from "../models/served-panel.tsx";
import { ConformancePanel } from "../verification/conformance-panel.tsx";
import { ListingVerdict, TrustSummary, useTrusts } from "../verification/trust-badges.tsx";
import { countTrust, orderLabel } from "../verification/verification-labels.ts";
import { PolicyLinks, ProviderStatus } from "./provider-status.tsx";
import { PROVIDER_STATUS, substitutedShare } from "./provider-labels.ts";

const CRUMBS = [{ label: "Providers", to: "/providers" }];
const REFRESH_MS = 30_000;

export function ProviderPage() {
  const { providerId = "" } = useParams({ strict: false });
  const providers = useAnswer("GET /api/providers.json", undefined, { refetchMs: REFRESH_MS });
  const provider = providers.data?.providers.find(({ id }) => id === providerId);
  return (
    <Page
      title={provider?.name ?? providerId}
      isWide
      crumbs={CRUMBS}
      lead={<Copyable value={providerId} label="provider ID" />}
    >
      <Answer of={providers} rows={8}>
        {() => (provider === undefined ? NO_PROVIDER : <ProviderParts provider={provider} />)}
      </Answer>
    </Page>
  );
}

const NO_PROVIDER = (
  <Panel>
    <Empty title="Provider not found." link={{ to: "/providers", label: "View all providers" }} />
  </Panel>
);

function substitutionLabel({ substitutions }: Provider): string {
  if (substitutions.length === 0) return "None in the last 24 hours";
  return substitutions
    .map((each) => `${each.served_model} for ${each.model}, ${substitutedShare(each.share_24h)}`)
    .join("; ");
}

function ProviderParts({ provider }: { readonly provider: Provider }) {
  // Both are null if the operator does not publish the figures of all customers' calls.
  const { success_24h: success, ttft_p50_ms: ttftMs } = provider;
  const trusts = useTrusts({ provider: provider.id });
  const trust = trusts && countTrust(trusts, provider.id);
  return (
    <>
      <Panel>
        <Stack gap="md">
          <Group gap="sm">
            <ProviderStatus status={provider.status} />
            {trust === undefined || trust.failed === 0 ? null : (
              <StatusBadge tone="bad">
                {`${formatCount(trust.failed)} of ${formatCount(trust.listed)} listings failed`}
              </StatusBadge>
            )}
            <LoggingBadge listings={[provider]} />
            <PolicyLinks provider={provider} />
          </Group>
          <FactList
            facts={[
              ["Status now", PROVIDER_STATUS[provider.status].meaning],
              trust !== undefined && ["Verified listings", <TrustSummary count={trust} />],
              success !== null && ["Success rate of all customers, 24 hours", formatShare(success)],
              ttftMs !== null && ["Time to first token, p50", formatMs(ttftMs)],
              ["Substituted models", substitutionLabel(provider)],
              ["Data centers", countryNames(provider.datacenters)],
            ]}
          />
        </Stack>
      </Panel>
      <Panel title="Models">
        <ServedModels providerId={provider.id} />
      </Panel>
      <ServedPanel of={{ provider: provider.id }} nameOf={modelLink} label="Model" />
      <ConformancePanel provider={provider.id} />
    </>
  );
}

function modelLink({ model }: { readonly model: string }) {
  return (
    <AppLink to="/models/$" params={{ _splat: model }} size="sm">
      {model}
    </AppLink>
  );
}

function ServedModels({ providerId }: { readonly providerId: string }) {
  const catalog = useAnswer("GET /api/catalog.json");
  const models = catalog.data?.models;
  const isSignedIn = useIsSignedIn();
  const trusts = useTrusts({ provider: providerId });
  const rows = useMemo(
    () =>
      (models ?? []).flatMap((model): readonly Row[] => {
        const at = model.providers.findIndex(({ provider }) => provider === providerId);
        const listing = model.providers[at];
        if (listing === undefined) return [];
        const trust = trusts?.find((each) => each.model === model.id);
        return [{ model, listing, place: at + 1, trust }];
      }),
    [models, providerId, trusts],
  );
  return (
    <Answer of={catalog} rows={4}>
      {() => (
        <DataTable
          caption="Models of this provider"
          kept={KEPT}
          columns={isSignedIn ? COLUMNS : PUBLIC_COLUMNS}
          rows={rows}
          rowKey={({ model }) => model.id}
          empty="No models listed."
        />
      )}
    </Answer>
  );
}

function ListingChanges({ model, listing }: Row) {
  const change = nextChange([listing]);
  const lastDay = model.deprecation_date;
  const lines = [
    ...(listing.price_tiers.length === 0 ? [] : ["Price depends on prompt size"]),
    ...(change === undefined ? [] : [changeLabel(change)]),
    ...(lastDay === null ? [] : [`Leaves on ${dayLabel(lastDay)}`]),
  ];
  return lines.length === 0 ? "–" : lines.map((line) => <div key={line}>{line}</div>);
}

const KEPT: Kept = { id: "provider-models", rows: ["model", "models"] };

interface Row {
  readonly model: Model;
  readonly listing: ModelProvider;
  /** Position of the listing in the model's routing order, from 1. */
  readonly place: number;
  readonly trust: ListingTrust | undefined;
}

/** Visitors do not see verdicts, nor the routing order (`place`), which verdicts change. */
const TRUSTED: ReadonlySet<string> = new Set(["verdict", "place"]);

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "model",
    label: "Model",
    phone: "lead",
    sortValue: ({ model }) => model.name,
    render: ({ model }) => (
      <NameLine
        of={model.id}
        name={model.name}
        link={{ to: "/models/$", params: { _splat: model.id }, fw: 500 }}
        note={<Copyable value={model.id} label="model ID" />}
      />
    ),
  },
  column(
    "verdict",
    "Verdict",
    ({ trust }) => (trust === undefined ? "–" : <ListingVerdict trust={trust} />),
    { phone: "line" },
  ),
  column(
    "price",
    "Price",
    ({ listing }) => <span className={kit.figures}>{priceLine([listing])}</span>,
    { phone: "line" },
  ),
  column("changes", "Changes", (row) => <ListingChanges {...row} />),
  column("checked", "Prices checked", ({ listing }) => <CheckedNote listing={listing} />, {
    shownFrom: "wide",
  }),
  column("reads", "Accepts", ({ model }) => model.input_modalities.join(", "), {
    shownFrom: "wide",
  }),
  column(
    "place",
    "Order",
    ({ place, model, trust }) => orderLabel(`${place} of ${model.providers.length}`, trust),
    { align: "right", sortValue: ({ place }) => place },
  ),
  numberColumn("context", "Context", ({ listing }) => listing.context_length, {
    shownFrom: "wide",
    sortValue: ({ listing }) => listing.context_length ?? 0,
  }),
  column("quantization", "Quantization", ({ listing }) => listing.quantization ?? "–", {
    shownFrom: "wide",
  }),
  column(
    "capacity",
    "Capacity",
    ({ listing }) => <div className={styles.wide}>{capacityLabel(listing.capacity)}</div>,
    { shownFrom: "asked" },
  ),
];

const PUBLIC_COLUMNS = COLUMNS.filter(({ id }) => !TRUSTED.has(id));
