import type { RawJson } from "../../kernel/index.ts";
import type { Draft, DraftChange, ReaderInput, Reading } from "./draft.ts";
import { readGenaiPrices } from "./genai-prices.ts";
import { readLitellm } from "./litellm.ts";
import { readModelsDev } from "./models-dev.ts";
import { readOpenRouter } from "./openrouter.ts";
import type { ListingSource } from "./provider-heads.ts";

const READERS: Readonly<
  Record<ListingSource, (document: RawJson, input: ReaderInput) => Reading[]>
> = {
  litellm: readLitellm,
  "models.dev": readModelsDev,
  openrouter: readOpenRouter,
  "genai-prices": readGenaiPrices,
};

/**
 * Reads what a source says of a provider: every entry is a draft or is skipped with a note, and
 * prices are those of a day, which is the source's own unless another is given.
 */
export function readSource(
  from: ListingSource,
  document: RawJson,
  input: ReaderInput & { readonly day?: string },
): readonly Reading[] {
  const { day = input.dated } = input;
  return READERS[from](document, input).map((each): Reading =>
    each.kind === "draft" ? { ...each, draft: atDay(each.draft, day) } : each,
  );
}

/** With the changes that have begun made. */
function atDay(draft: Draft, day: string): Draft {
  const hasBegun = ({ from }: DraftChange): boolean => from.slice(0, 10) <= day;
  const begun = draft.changes.findLast(hasBegun);
  if (begun === undefined) return draft;
  return {
    ...draft,
    prices: { sheet: begun.sheet, tiers: begun.tiers },
    changes: draft.changes.filter((change) => !hasBegun(change)),
  };
}
