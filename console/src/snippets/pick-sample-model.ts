import type { Model, Provider } from "../api/contract.ts";
import { parseUsd } from "../ui/money-math.ts";

/**
 * Chooses the cheapest chat model whose first provider is healthy and whose providers log no
 * prompts; else the cheapest chat model. The price is that of one input plus one output token.
 */
export function pickSampleModel(
  models: readonly Model[],
  providers: readonly Pick<Provider, "id" | "status">[],
): string | undefined {
  const healthy = new Set(
    providers.filter(({ status }) => status === "healthy").map(({ id }) => id),
  );
  const priced = models.flatMap((model) => {
    const price = model.modality === "text" ? sumPrices(model) : undefined;
    return price === undefined ? [] : [{ model, price }];
  });
  const best = priced.filter(
    ({ model }) =>
      model.providers.every(({ prompt_logging }) => prompt_logging === "none") &&
      healthy.has(model.providers[0]?.provider ?? ""),
  );
  const [first] = (best.length > 0 ? best : priced).toSorted((a, b) =>
    a.price < b.price ? -1 : a.price > b.price ? 1 : 0,
  );
  return first?.model.id;
}

/** Micro-dollars for a million input plus a million output tokens. */
function sumPrices({ providers }: Model): bigint | undefined {
  const prices = providers[0]?.prices;
  return prices == null ? undefined : parseUsd(prices.prompt) + parseUsd(prices.completion);
}
