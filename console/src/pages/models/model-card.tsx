import { Group, Paper, Text, Title } from "@mantine/core";
import type { ReactElement } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { PickBox, type Picks } from "./compare-bar.tsx";
import { ModelBadges } from "./model-badges.tsx";
import { fittingListings, type ModelSearch } from "./model-filters.ts";
import { dayLabel, shortTokens } from "./model-labels.ts";
import { priceLine } from "./price-labels.ts";
import styles from "./models.module.css";
import type { ServedModels } from "./served.ts";

export interface ModelCardProps {
  readonly model: Model;
  /** The price is that of the providers that fit. */
  readonly search: ModelSearch;
  readonly served: ServedModels | undefined;
  readonly picks: Picks;
}

/** A model in a list of cards. */
export function ModelCard({ model, search, served, picks }: ModelCardProps): ReactElement {
  const listings = fittingListings(model, search, served);
  return (
    <Paper component="article" withBorder className={styles.card}>
      <div>
        <div className={styles.cardHead}>
          <Title order={2} size="h5" className={styles.cardTitle}>
            <AppLink to="/models/$" params={{ _splat: model.id }} inherit underline="hover">
              {model.name}
            </AppLink>
          </Title>
          <PickBox model={model} picks={picks} />
        </div>
        <Copyable value={model.id} label="model ID" />
      </div>
      <Group gap={6}>
        <ModelBadges model={model} />
      </Group>
      <Text size="sm" className={styles.price}>
        {priceLine(listings)}
      </Text>
      <dl className={styles.cardFacts}>
        <Fact label="Context">{shortTokens(model.context_length)}</Fact>
        <Fact label="Providers">{String(model.providers.length)}</Fact>
        <Fact label="Released">{model.released === null ? "–" : dayLabel(model.released)}</Fact>
      </dl>
    </Paper>
  );
}

function Fact(props: { readonly label: string; readonly children: string }): ReactElement {
  return (
    <div>
      <Text component="dt" size="xs" c="dimmed">
        {props.label}
      </Text>
      <Text component="dd" size="sm" className={styles.cardFact}>
        {props.children}
      </Text>
    </div>
  );
}
