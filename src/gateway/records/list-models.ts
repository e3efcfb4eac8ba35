import type { ListedModel } from "../../catalog/index.ts";
import { listPieces } from "../../kernel/index.ts";
import type { ListingVerification } from "../verification/verification.ts";
import { messagesModel, modelEntry, type ModelPage, type Verdicts } from "./contract/models.ts";

/** `GET /v1/models` in the wire_a shape, as JSON in pieces. */
export function modelListA(
  models: readonly ListedModel[],
  verdicts: Verdicts,
): Promise<readonly Buffer[]> {
  const frame = { before: '{"object":"list","data":[', after: "]}" };
  return listPieces(models, (model) => entryText(model, verdicts), frame);
}

interface KeptEntry {
  readonly seen: string;
  readonly text: string;
}

// Weak: a swapped catalog takes its entries with it.
const keptEntries = new WeakMap<ListedModel, KeptEntry>();

/** Made again only when another verdict has been given: any client may ask for the list. */
function entryText(model: ListedModel, verdicts: Verdicts): string {
  const seen = model.deployments.map((each) => verdictText(verdicts.of(each))).join();
  const kept = keptEntries.get(model);
  if (kept?.seen === seen) return kept.text;
  const text = JSON.stringify(modelEntry.show({ model, verdicts }));
  keptEntries.set(model, { seen, text });
  return text;
}

function verdictText({ state, verdict, suspect }: ListingVerification): string {
  return `${state} ${verdict?.checkedAtMs ?? ""} ${suspect?.sinceMs ?? ""}`;
}

/** `GET /v1/models` in the wire_b shape, as JSON in pieces. */
export function modelListB(
  models: readonly ListedModel[],
  query: ModelPage,
): Promise<readonly Buffer[]> {
  const page = cutPage(models, query);
  const rest = JSON.stringify({
    has_more: page.hasMore,
    first_id: page.models[0]?.id ?? null,
    last_id: page.models.at(-1)?.id ?? null,
  });
  const frame = { before: '{"data":[', after: `],${rest.slice(1)}` };
  return listPieces(page.models, (model) => JSON.stringify(messagesModel.show(model)), frame);
}

function cutPage(
  models: readonly ListedModel[],
  query: ModelPage,
): { models: readonly ListedModel[]; hasMore: boolean } {
  let rest = models;
  if (query.after_id !== undefined) {
    rest = rest.slice(rest.findIndex((model) => model.id === query.after_id) + 1);
  }
  if (query.before_id !== undefined) {
    const at = rest.findIndex((model) => model.id === query.before_id);
    rest = at === -1 ? rest : rest.slice(0, at);
    const start = Math.max(0, rest.length - (query.limit ?? rest.length));
    return { models: rest.slice(start), hasMore: start > 0 };
  }
  const limit = query.limit ?? rest.length;
  return { models: rest.slice(0, limit), hasMore: rest.length > limit };
}
