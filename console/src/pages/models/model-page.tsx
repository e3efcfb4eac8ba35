import { Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useCallback, useMemo, type ReactElement } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMaybeSession } from "../../api/use-session.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { KEY_HINT } from "../../snippets/chat-snippets.ts";
import { modelSnippets } from "../../snippets/media-snippets.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { TrustBadges } from "../verification/trust-badges.tsx";
import { FactList } from "./fact-list.tsx";
import { ListingTable } from "./listing-table.tsx";
import { ModelBadges } from "./model-badges.tsx";
import { dayLabel } from "./model-labels.ts";
import { ParameterChips } from "./parameter-chips.tsx";
import { PriceCard } from "./price-card.tsx";
import { PriceSheetPanel } from "./price-sheet-panel.tsx";
import { priceLine } from "./price-labels.ts";
import { servedFirst } from "./served.ts";
import { ServedPanel } from "./served-panel.tsx";
import { useServed } from "./use-served.ts";

const CRUMBS = [{ label: "Models", to: "/models" }];

export function ModelPage(): ReactElement {
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
        {() => (model === undefined ? <NoModel /> : <ModelParts model={model} />)}
      </Answer>
    </Page>
  );
}

function ModelLinks({ model }: { readonly model: Model }): ReactElement {
  return (
    <>
      <LinkButton variant="default" to="/models/compare" search={{ models: model.id }}>
        Compare
      </LinkButton>
      <LinkButton to="/playground" search={{ tab: TABS[model.modality], model: model.id }}>
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

function NoModel(): ReactElement {
  return (
    <Panel>
      <Empty
        title="Model not found. It may have been removed."
        action={
          <LinkButton to="/models" variant="default">
            View all models
          </LinkButton>
        }
      />
    </Panel>
  );
}

function ModelParts({ model }: { readonly model: Model }): ReactElement {
  const gatewayUrl = useMaybeSession()?.installation.gateway_url ?? globalThis.location.origin;
  return (
    <>
      <Panel>
        <Stack gap="md">
          <ModelBadges model={model} />
          <ModelFacts model={model} />
        </Stack>
      </Panel>
      <Panel title="Providers, in routing order">
        <Text size="sm" c="dimmed" mb="sm">
          Requests use the first healthy provider that can serve them, and you pay that provider's
          prices. Prices are per million tokens.
        </Text>
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

function ServedByProviders({ model: { id, providers } }: { readonly model: Model }): ReactElement {
  const of = useMemo(() => ({ model: id }), [id]);
  const nameOf = useCallback(
    ({ provider }: { readonly provider: string }) =>
      providers.find((each) => each.provider === provider)?.name ?? provider,
    [providers],
  );
  return <ServedPanel of={of} nameOf={nameOf} label="Provider" />;
}

function ModelFacts({ model }: { readonly model: Model }): ReactElement {
  const wire = model.decisions_wire;
  const served = useServed();
  const first = servedFirst(served?.of, model);
  const enabled = useMaybeSession()?.state === "signed_in";
  const trusts = useAnswer(
    "GET /api/console/verification",
    { query: { model: model.id } },
    { enabled },
  ).data?.listings;
  const trust = trusts?.find(({ provider }) => provider === model.providers[0]?.provider);
  return (
    <FactList
      facts={[
        { label: "Price", value: priceLine(model.providers) },
        ...(first === undefined
          ? []
          : [
              {
                label: `Uptime, 30 days, ${served?.whose}`,
                value: orDash(first.uptime, formatShare),
              },
              { label: "First token, p50", value: formatMs(first.ttftMs) },
              { label: "Tokens per second", value: orDash(first.tokensPerSecond, formatCount) },
            ]),
        ...(trust === undefined
          ? []
          : [{ label: "Conformance", value: <TrustBadges trust={trust} /> }]),
        { label: "Context", value: tokens(model.context_length) },
        ...(model.modality === "text"
          ? [{ label: "Max output", value: tokens(model.max_output_tokens) }]
          : []),
        { label: "Released", value: model.released === null ? "–" : dayLabel(model.released) },
        ...(model.deprecation_date === null
          ? []
          : [{ label: "Leaves on", value: dayLabel(model.deprecation_date) }]),
        { label: "Route", value: <code>{model.route}</code> },
        ...(wire === null ? [] : [{ label: "Question grammar", value: <code>{wire}</code> }]),
      ]}
    />
  );
}

function orDash(figure: number | null, show: (figure: number) => string): string {
  return figure === null ? "–" : show(figure);
}

function tokens(count: number | null): string {
  return count === null ? "–" : `${formatCount(count)} tokens`;
}
