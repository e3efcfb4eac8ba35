import type { Model } from "../../../../src/account/console-api/contract.ts";
import { parseUsd } from "../../ui/money-math.ts";
import type { Sort } from "../../ui/sort-rows.ts";
import { fittingListings, type ModelSearch } from "./model-filters.ts";
import { paidPrice, type Sku } from "./price-labels.ts";
import type { ServedModels } from "./served.ts";

/** An order of the list, by its name in the address. */
export interface ModelOrder extends Sort {
  readonly value: string;
  readonly label: string;
}

/** The first one is that of the server, which the address does not name. */
export const ORDERS: readonly ModelOrder[] = [
  { value: "newest", label: "Newest first", id: "released", direction: "descending" },
  { value: "price", label: "Cheapest input first", id: "prompt", direction: "ascending" },
  { value: "output", label: "Cheapest output first", id: "completion", direction: "ascending" },
  { value: "context", label: "Longest context first", id: "context", direction: "descending" },
  { value: "name", label: "Name, A to Z", id: "model", direction: "ascending" },
  { value: "oldest", label: "Oldest first", id: "released", direction: "ascending" },
  {
    value: "price-desc",
    label: "Most expensive input first",
    id: "prompt",
    direction: "descending",
  },
  {
    value: "output-desc",
    label: "Most expensive output first",
    id: "completion",
    direction: "descending",
  },
  { value: "context-asc", label: "Shortest context first", id: "context", direction: "ascending" },
  { value: "name-desc", label: "Name, Z to A", id: "model", direction: "descending" },
  { value: "providers", label: "Most providers first", id: "providers", direction: "descending" },
  {
    value: "providers-asc",
    label: "Fewest providers first",
    id: "providers",
    direction: "ascending",
  },
  { value: "ttft", label: "Fastest first token first", id: "ttft", direction: "ascending" },
  { value: "ttft-desc", label: "Slowest first token first", id: "ttft", direction: "descending" },
  { value: "speed", label: "Most tokens per second first", id: "speed", direction: "descending" },
  {
    value: "speed-asc",
    label: "Fewest tokens per second first",
    id: "speed",
    direction: "ascending",
  },
  { value: "success", label: "Highest success first", id: "success", direction: "descending" },
  { value: "success-asc", label: "Lowest success first", id: "success", direction: "ascending" },
];
/** To be chosen where it is known how models were served. */
const SERVED_ORDERS: ReadonlySet<string> = new Set(["ttft", "speed", "success"]);
const NEWEST = "newest";
const COMMON = 5;

/** The order that the address names; one that does not exist is the first. */
export function orderOf(search: ModelSearch): ModelOrder {
  const named = ORDERS.find(({ value }) => value === search.sort);
  return named ?? (ORDERS[0] as ModelOrder);
}

/** The orders to choose from: the usual ones, and the one that is shown. */
export function orderChoices(search: ModelSearch, served?: ServedModels): readonly ModelOrder[] {
  const shown = orderOf(search);
  return ORDERS.filter(
    (order, at) =>
      at < COMMON || order === shown || (served !== undefined && SERVED_ORDERS.has(order.value)),
  );
}

/** The text in the address for an order; undefined for the usual one. */
export function orderInAddress(value: string | null): string | undefined {
  return value === null || value === NEWEST ? undefined : value;
}

/** The order that a press on the header of a column asks for. */
export function orderBySort({ id, direction }: Sort): string | undefined {
  const order = ORDERS.find((each) => each.id === id && each.direction === direction);
  return orderInAddress(order?.value ?? null);
}

/** A sorted copy. Models without the value that counts come last, in either direction. */
export function orderModels(
  models: readonly Model[],
  search: ModelSearch,
  served?: ServedModels,
): readonly Model[] {
  const { value, id, direction } = orderOf(search);
  if (value === NEWEST) return models;
  const keys = new Map(models.map((model) => [model, keyOf(model, id, { search, served })]));
  const turn = direction === "ascending" ? 1 : -1;
  return models.toSorted((a, b) => compare(keys.get(a), keys.get(b), turn));
}

type Key = bigint | number | string | undefined;

interface SortedBy {
  readonly search: ModelSearch;
  readonly served: ServedModels | undefined;
}

function keyOf(model: Model, column: string, by: SortedBy): Key {
  const served = by.served?.get(model.id);
  switch (column) {
    case "prompt":
    case "completion":
      return priceOf(model, column, by);
    case "ttft":
      return served?.ttftMs ?? undefined;
    case "speed":
      return served?.tokensPerSecond ?? undefined;
    case "success":
      return served?.success ?? undefined;
    case "context":
      return model.context_length ?? undefined;
    case "providers":
      return model.providers.length;
    case "released":
      return model.released ?? undefined;
    default:
      return model.name;
  }
}

/** The price at the first provider that fits; undefined: no price by the token. */
function priceOf(model: Model, sku: Sku, { search, served }: SortedBy): bigint | undefined {
  const price = paidPrice(fittingListings(model, search, served), sku);
  return price === undefined ? undefined : parseUsd(price);
}

function compare(a: Key, b: Key, turn: number): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === "string" || typeof b === "string") {
    return turn * NAMES.compare(String(a), String(b));
  }
  return turn * (a < b ? -1 : a > b ? 1 : 0);
}
const NAMES = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
