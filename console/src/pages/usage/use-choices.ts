import { useMemo } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { STATUSES, type FilterName } from "./usage-search.ts";

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/**
 * The values that a filter can have. They come from the catalog or from the organization's keys,
 * and are undefined while they load. The catalog is long, so it is loaded with the menu that needs
 * it, not with the page.
 */
export function useChoices(name: FilterName): readonly Choice[] | undefined {
  const isOfCatalog = name === "model" || name === "provider";
  const isOfKeys = name === "key" || name === "tag";
  const catalog = useAnswer("GET /api/catalog.json", undefined, { enabled: isOfCatalog });
  const list = useAnswer("GET /api/console/keys", undefined, { enabled: isOfKeys });
  const models = catalog.data?.models;
  const keys = list.data?.data;
  return useMemo(() => {
    switch (name) {
      case "model":
        return models?.map(({ id }) => ({ value: id, label: id }));
      case "provider":
        return models && listProviders(models.flatMap(({ providers }) => providers));
      case "key":
        return keys && [...keys.map(keyChoice), ...OWN_KEYS];
      case "tag":
        return keys && listTags(keys);
      case "status":
      default:
        return STATUSES;
    }
  }, [name, models, keys]);
}

function listProviders(
  listings: readonly { readonly provider: string; readonly name: string }[],
): readonly Choice[] {
  const names = new Map(listings.map(({ provider, name }) => [provider, name]));
  return [...names].map(([value, label]) => ({ value, label }));
}

function keyChoice(key: {
  readonly key_id: string;
  readonly name: string;
  readonly label: string;
}): Choice {
  return { value: key.key_id, label: `${key.name} (${key.label}…)` };
}

function listTags(keys: readonly { readonly tags: readonly string[] }[]): readonly Choice[] {
  const tags = new Set(keys.flatMap((key) => key.tags));
  return [...tags].sort().map((value) => ({ value, label: value }));
}

/**
 * Keys of the gateway itself. The organization's list of keys does not contain them, but the
 * customer pays for their requests.
 */
const OWN_KEYS = [
  { value: "playground", label: "Playground" },
  { value: "optimize", label: "Optimize searches" },
] as const;
