import { Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useCallback } from "react";

import type { Model, ModelProvider } from "../../api/contract.ts";
import { useAnswer, useSession } from "../../api/use-answer.ts";
import { column, figuresColumn } from "../../ui/columns.tsx";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { KEY_HINT } from "../../snippets/chat-snippets.ts";
import { modelSnippets } from "../../snippets/media-snippets.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { Empty } from "../../ui/empty.tsx";
import { Note, Page, Panel } from "../../ui/page.tsx";
import { TrustBadges, useTrusts } from "../verification/trust-badges.tsx";
import { FactList } from "./fact-list.tsx";
import { ListingTable } from "./listing-table.tsx";
import { ModelBadges } from "./model-badges.tsx";
import { dayLabel, parameterLabel } from "./model-labels.ts";
import { priceLine, cardLineLabel, showPrice, SKU_NAMES, SKUS } from "./price-labels.ts";
import { servedFirst } from "./served.ts";
import { ServedPanel } from "./served-panel.tsx";
import { useServed } from "./use-served.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { priceRows, type PriceRow } from "./price-rows.ts";
import styles from "./models.module.css";

const CRUMBS = [{ label: "Models", to: "/models" }];

export function ModelPage() {
  const { _splat: id = "" } = useParams({ strict: false });
  const catalog = useAnswer("GET /api/catalog.json");
  const model = catalog.data?.models.find((each) => each.id === id);
  return (
    <Page
      isWide
      title={model?.name ?? id}
      crumbs={CRUMBS}
      lead={
        <>
          {model?.description} <Copyable value={id} label="model ID" />
        </>
      }
      actions={model === undefined ? undefined : <ModelLinks model={model} />}
    >
      <Answer of={catalog} rows={12}>
        {() => (model === undefined ? NO_MODEL : <ModelParts model={model} />)}
      </Answer>
    </Page>
  );
}

function ModelLinks({ model }: { readonly model: Model }) {
  return (
    <>
      <LinkButton to="/models/compare" search={{ models: model.id }}>
        Compare
      </LinkButton>
      <LinkButton
        to="/playground"
        search={{ tab: TABS[model.modality], model: model.id }}
        variant="filled"
      >
        Open in playground
      </LinkButton>
    </>
  );
}
const TABS: Readonly<Record<Model["modality"], string>> = {
  text: "chat",
  image: "images",
  video: "videos",
  decisions: "decisions",
};

const NO_MODEL = (
  <Panel>
    <Empty
      title="Model not found. It may have been removed."
      link={{ to: "/models", label: "View all models" }}
    />
  </Panel>
);

function ModelParts({ model }: { readonly model: Model }) {
  const { gateway_url: gatewayUrl } = useSession().installation;
  return (
    <>
      <Panel>
        <Stack gap="md">
          <ModelBadges model={model} />
          <ModelFacts model={model} />
        </Stack>
      </Panel>
      <Panel title="Providers, in routing order">
        <Note mb="sm">
          Requests use the first healthy provider that can serve them, and you pay that provider's
          prices. Prices are per million tokens.
        </Note>
        <ListingTable model={model.id} listings={model.providers} />
      </Panel>
      <ServedByProviders model={model} />
      <PriceSheetPanel listings={model.providers} />
      <PriceCard listings={model.providers} />
      <Panel title="Supported parameters">
        <ParameterChips model={model} />
      </Panel>
      <Panel title="Sample code">
        <CallSnippets
          of={(wire) => modelSnippets(model, gatewayUrl, wire)}
          hasOneRoute={model.modality !== "text"}
          note={KEY_HINT}
        />
      </Panel>
    </>
  );
}

function ServedByProviders({ model: { id, providers } }: { readonly model: Model }) {
  const nameOf = useCallback(
    ({ provider }: { readonly provider: string }) =>
      providers.find((each) => each.provider === provider)?.name ?? provider,
    [providers],
  );
  return <ServedPanel of={{ model: id }} nameOf={nameOf} label="Provider" />;
}

function ModelFacts({ model }: { readonly model: Model }) {
  const { decisions_wire: wire, released, deprecation_date: lastDay } = model;
  const served = useServed();
  const first = servedFirst(served?.of, model);
  const trusts = useTrusts({ model: model.id });
  const trust = trusts?.find(({ provider }) => provider === model.providers[0]?.provider);
  return (
    <FactList
      facts={[
        ["Price", priceLine(model.providers)],
        first !== undefined && [
          `Uptime, 30 days, ${served?.whose}`,
          orDash(first.uptime, formatShare),
        ],
        first !== undefined && ["First token, p50", formatMs(first.ttft_p50_ms)],
        first !== undefined && ["Tokens per second", orDash(first.tokens_per_second, formatCount)],
        trust !== undefined && ["Conformance", <TrustBadges trust={trust} />],
        ["Context", orDash(model.context_length, showTokens)],
        model.modality === "text" && ["Max output", orDash(model.max_output_tokens, showTokens)],
        ["Released", orDash(released, dayLabel)],
        lastDay !== null && ["Leaves on", dayLabel(lastDay)],
        ["Route", <code>{model.route}</code>],
        wire !== null && ["Question grammar", <code>{wire}</code>],
      ]}
    />
  );
}

function orDash<T>(value: T | null, show: (value: T) => string): string {
  return value === null ? "–" : show(value);
}

function showTokens(count: number): string {
  return `${formatCount(count)} tokens`;
}

interface PriceProps {
  readonly listings: readonly ModelProvider[];
}

type CardLine = ModelProvider["price_card"][number] & {
  readonly key: string;
  readonly provider: string;
};

function PriceCard({ listings }: PriceProps) {
  const lines = listings.flatMap(({ provider, name, price_card }) =>
    price_card.map((line, at) => ({ ...line, key: `${provider}-${at}`, provider: name })),
  );
  if (lines.length === 0) return null;
  return (
    <Panel title="Price card">
      <Note mb="sm">As published by the providers. Each request shows its actual cost.</Note>
      <DataTable
        caption="Price card"
        columns={CARD_COLUMNS}
        rows={lines}
        rowKey={({ key }) => key}
      />
    </Panel>
  );
}

const CARD_COLUMNS: readonly Column<CardLine>[] = [
  column("provider", "Provider", ({ provider }) => provider),
  column("bills", "Bills", ({ billable, unit }) => billable ?? unit),
  column("tier", "Tier", ({ variant }) => variant ?? "–"),
  figuresColumn("price", "Price", cardLineLabel),
];

function PriceSheetPanel({ listings }: PriceProps) {
  const rows = priceRows(listings);
  if (rows.length === 0) return null;
  return (
    <Panel title={SHEETS}>
      <Note mb="sm">
        The size of the whole prompt, including cached tokens, sets the price of every token in the
        request and its answer. The prices at the time the request was admitted apply.
      </Note>
      <DataTable
        caption={SHEETS}
        columns={sheetColumns(rows)}
        rows={rows}
        rowKey={({ key }) => key}
      />
    </Panel>
  );
}

const SHEETS = "Prices by prompt size and date";

function sheetColumns(rows: readonly PriceRow[]): readonly Column<PriceRow>[] {
  const skus = SKUS.filter((sku) => rows.some(({ prices }) => prices[sku] !== undefined));
  return [
    column("provider", "Provider", ({ provider }) => provider),
    column("when", "When", ({ when }) => when),
    column("prompts", "Prompts", ({ prompts }) => prompts),
    ...skus.map((sku) =>
      figuresColumn<PriceRow>(sku, SKU_NAMES[sku], ({ prices: { [sku]: price } }) =>
        price === undefined ? "Not offered" : showPrice(price),
      ),
    ),
  ];
}

function ParameterChips({ model }: { readonly model: Model }) {
  const parameters = Object.entries(model.parameters);
  return (
    <Stack gap="md">
      <Chips label="Input" words={model.input_modalities} />
      {parameters.length === 0 ? (
        <Note>The providers list no parameters.</Note>
      ) : (
        <Chips
          label="Parameters"
          words={parameters.map(([name, descriptor]) => {
            const words = parameterLabel(name, descriptor);
            const some = providersWith(model, name);
            return some === undefined ? words : `${words} (${some})`;
          })}
        />
      )}
    </Stack>
  );
}

/** Names the providers that accept the parameter; undefined if all or none of them do. */
function providersWith({ providers }: Model, parameter: string): string | undefined {
  const taking = providers.filter(({ parameters }) => Object.hasOwn(parameters, parameter));
  if (taking.length === providers.length || taking.length === 0) return undefined;
  return `only ${taking.map(({ name }) => name).join(", ")}`;
}

function Chips(props: { readonly label: string; readonly words: readonly string[] }) {
  return (
    <div>
      <Note mb={6}>{props.label}</Note>
      <ul className={styles.chips} aria-label={props.label}>
        {props.words.map((word) => (
          <li key={word} className={styles.chipText}>
            {word}
          </li>
        ))}
      </ul>
    </div>
  );
}
