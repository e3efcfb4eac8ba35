import type { ListingFigures, Model, ModelProvider, PricesPerMillion } from "../../api/contract.ts";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { parseUsd } from "../../ui/money-math.ts";
import { countryNames, dayLabel, loggingLabel, MODALITY_NAMES } from "./model-labels.ts";
import { labelChecked, instantLabel } from "./price-rows.ts";
import {
  defaultLabel,
  HOUR_WRITE,
  showPrice,
  SKU_NAMES,
  SKUS,
  tokenPrice,
  type Sku,
} from "./price-labels.ts";
import { servedFirst, type ServedModels } from "./served.ts";

export interface FactCell {
  readonly text: string;
  readonly note?: string;
  /** True if this is the best value of its table row. If all are equal, none is the best. */
  readonly isBest: boolean;
}

export interface Fact {
  readonly label: string;
  readonly cells: readonly FactCell[];
}

/**
 * Prices, sizes, figures and verdicts are those of each model's first provider. The rows of measured
 * figures, and the row of verdicts, appear only if one of these providers has them.
 */
export function compareFacts(
  models: readonly Model[],
  verdicts: readonly (string | undefined)[] = [],
  served: ServedModels = new Map(),
): readonly Fact[] {
  const firsts = models.map(({ providers }) => providers[0]);
  const isHourPriced = firsts.some((first) => first?.prices?.[HOUR_WRITE] !== undefined);
  const ofModel = (label: string, text: (model: Model, at: number) => string): Fact =>
    plain(label, models.map(text));
  const ofFirst = (label: string, text: (first: ModelProvider | undefined) => string): Fact =>
    plain(label, firsts.map(text));
  const sizes = (label: string, size: (first: ModelProvider) => number | null): Fact => {
    const values = firsts.map((first) => (first === undefined ? null : size(first)));
    return bestFact(label, values, Math.max, (tokens) => `${formatCount(tokens)} tokens`);
  };
  return [
    ...SKUS.filter((sku) => sku !== HOUR_WRITE || isHourPriced).map((sku) =>
      priceFact(firsts, sku),
    ),
    ofFirst("Price by prompt size", sizesLabel),
    ofFirst("Upcoming prices", changesLabel),
    ofFirst("Prices checked", (first) => labelChecked(first?.checked ?? null)),
    sizes("Context", (first) => first.context_length),
    sizes("Max output", (first) => (first.billing === "token" ? first.max_output_tokens : null)),
    ofModel("Output", ({ modality }) => MODALITY_NAMES[modality]),
    ofModel("Accepts", ({ input_modalities }) => input_modalities.join(", ")),
    ofModel("Does not accept", (model) => lacking(model, models)),
    ...listServedFacts(models.map((model) => servedFirst(served, model))),
    ofModel("Providers", providerNames),
    ofModel("Prompt logging", ({ providers }) => loggingLabel(providers).word),
    ofFirst("Data centers", (first) => countryNames(first?.datacenters ?? [])),
    ...(verdicts.every((word) => word === undefined)
      ? []
      : [ofModel("Verified", (_model, at) => verdicts[at] ?? "–")]),
    ofModel("Released", ({ released: day }) => (day === null ? "–" : dayLabel(day))),
    ofModel("Leaves on", ({ deprecation_date: day }) =>
      day === null ? "None announced" : dayLabel(day),
    ),
  ];
}

function plain(label: string, texts: readonly string[]): Fact {
  return { label, cells: texts.map((text) => ({ text, isBest: false })) };
}

/** Such as `"$2.00 in, $4.00 out above 200,000 tokens"`. */
function sizesLabel(listing: ModelProvider | undefined): string {
  const tiers = (listing?.price_tiers ?? []).map(
    ({ above_prompt_tokens: above, prices }) =>
      `${inAndOut(prices)} above ${formatCount(above)} tokens`,
  );
  return tiers.length === 0 ? "Same for all" : tiers.join("; ");
}

function changesLabel(listing: ModelProvider | undefined): string {
  const changes = (listing?.price_changes ?? []).map(
    ({ from, prices }) => `${inAndOut(prices)} from ${instantLabel(from)}`,
  );
  return changes.length === 0 ? "None" : changes.join("; ");
}

function inAndOut({ prompt, completion }: PricesPerMillion): string {
  return `${showPrice(prompt)} in, ${showPrice(completion)} out`;
}

function priceFact(listings: readonly (ModelProvider | undefined)[], sku: Sku): Fact {
  const prices = listings.map((each) => (each === undefined ? undefined : tokenPrice(each, sku)));
  const known = prices.flatMap((price) => (price === undefined ? [] : [parseUsd(price)]));
  const lowest = known.length < 2 ? undefined : known.reduce((a, b) => (b < a ? b : a));
  const isSame = known.every((price) => price === known[0]);
  const cells = prices.map((price, at): FactCell => {
    const listing = listings[at];
    if (price === undefined) {
      const text = listing?.billing === "token" ? "Not offered" : "As reported";
      return { text, isBest: false };
    }
    const note = listing === undefined ? undefined : defaultLabel(listing, sku);
    return {
      text: showPrice(price),
      isBest: !isSame && parseUsd(price) === lowest,
      ...(note === undefined ? {} : { note }),
    };
  });
  return { label: `${SKU_NAMES[sku]}, per million`, cells };
}

function listServedFacts(served: readonly (ListingFigures | undefined)[]): readonly Fact[] {
  if (served.every((each) => each === undefined)) return [];
  const figures = (name: "ttft_p50_ms" | "tokens_per_second" | "success") =>
    served.map((each) => each?.[name] ?? null);
  return [
    bestFact("First token, p50", figures("ttft_p50_ms"), Math.min, formatMs),
    bestFact("Tokens per second", figures("tokens_per_second"), Math.max, (speed) =>
      formatCount(Math.round(speed)),
    ),
    bestFact("Succeeded, 30 days", figures("success"), Math.max, formatShare),
  ];
}

function bestFact(
  label: string,
  figures: readonly (number | null)[],
  best: (...figures: number[]) => number,
  text: (figure: number) => string,
): Fact {
  const known = figures.flatMap((figure) => figure ?? []);
  const isSame = known.every((figure) => figure === known[0]);
  const cells = figures.map((figure) => ({
    text: figure === null ? "–" : text(figure),
    isBest: !isSame && figure === best(...known),
  }));
  return { label, cells };
}

function lacking(model: Model, models: readonly Model[]): string {
  const all = new Set(models.flatMap(({ parameters }) => Object.keys(parameters)));
  const names = [...all].filter((name) => !Object.hasOwn(model.parameters, name)).sort();
  return names.length === 0 ? "–" : names.join(", ");
}

function providerNames({ providers }: Model): string {
  const [first = "–", ...others] = providers.map(({ name }) => name);
  return others.length === 0 ? first : `${first}, then ${others.join(", ")}`;
}
