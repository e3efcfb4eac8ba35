import { Badge, Group, Anchor } from "@mantine/core";
import { useState } from "react";
import { ExternalLink } from "lucide-react";

import type { Model, ModelProvider } from "../../api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import kit from "../../ui/kit.module.css";
import { changeLabel, nextChange, labelChecked } from "./price-rows.ts";
import { leavingLabel, loggingLabel, MODALITY_NAMES } from "./model-labels.ts";
import { webAddress } from "../providers/provider-labels.ts";

export function LoggingBadge(props: {
  readonly listings: readonly Pick<ModelProvider, "prompt_logging">[];
}) {
  const { tone, word } = loggingLabel(props.listings);
  return <StatusBadge tone={tone}>{word}</StatusBadge>;
}

export function ModelBadges({ model }: { readonly model: Model }) {
  const reads = model.input_modalities.filter((kind) => kind !== "text");
  return (
    <Group gap={6} mt={4}>
      <Badge>{MODALITY_NAMES[model.modality]}</Badge>
      {reads.length === 0 ? null : <Badge>Accepts {reads.join(", ")}</Badge>}
      <LoggingBadge listings={model.providers} />
      {useNews(model).map(({ tone, word }) => (
        <StatusBadge key={word} tone={tone}>
          {word}
        </StatusBadge>
      ))}
    </Group>
  );
}

export function NewsLine({ model }: { readonly model: Model }) {
  return (
    <>
      {useNews(model).map(({ tone, word }) => (
        <span key={word} className={kit[`tone-${tone}`]}>
          {word}.{" "}
        </span>
      ))}
    </>
  );
}

interface News {
  readonly tone: "quiet" | "warn";
  readonly word: string;
}

function useNews(model: Model): readonly News[] {
  const [nowMs] = useState(() => Date.now());
  const leaving = leavingLabel(model.deprecation_date, nowMs);
  const change = nextChange(model.providers);
  const news: News[] = [];
  if (change !== undefined) {
    news.push({ tone: change.kind === "fall" ? "quiet" : "warn", word: changeLabel(change) });
  }
  if (leaving !== undefined) news.push({ tone: "warn", word: leaving });
  return news;
}

export function CheckedNote({ listing }: { readonly listing: ModelProvider }) {
  const { checked, name } = listing;
  const address = webAddress(checked?.url ?? null);
  if (address === undefined) return <>{labelChecked(checked)}</>;
  return (
    <Anchor
      href={address}
      target="_blank"
      rel="noreferrer noopener"
      size="sm"
      aria-label={`${labelChecked(checked)}: prices of ${name}, in a new tab`}
    >
      {labelChecked(checked)} <ExternalLink size={12} aria-hidden />
    </Anchor>
  );
}
