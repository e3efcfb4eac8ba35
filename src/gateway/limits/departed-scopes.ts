import { DEPARTED_MODELS_MAX } from "../../kernel/index.ts";
import type { LimitClaim, ScopeClaim } from "./limit-store.ts";

const made = new WeakMap<readonly ScopeClaim[], Map<string | undefined, readonly ScopeClaim[]>>();

/**
 * Where calls take a place whose client left: for each model as many as the widest of these scopes
 * allows in flight, and four times that for all models together. So a provider that says nothing
 * stops its own model and no other, and the number of answers that nobody waits for is bounded.
 * None where nothing limits what is in flight. The same array every time, for the models that are
 * served: a shared store remembers what it made of it.
 */
export function departedScopes(
  { slot, scopes }: Pick<LimitClaim, "slot" | "scopes">,
  modelId: string | undefined,
): readonly ScopeClaim[] {
  let byModel = made.get(scopes);
  if (byModel === undefined) made.set(scopes, (byModel = new Map()));
  const known = byModel.get(modelId) ?? makeScopes({ slot, scopes }, modelId);
  byModel.set(modelId, known);
  return known;
}

function makeScopes(
  { slot, scopes }: Pick<LimitClaim, "slot" | "scopes">,
  modelId: string | undefined,
): readonly ScopeClaim[] {
  const widest = scopes.findLast(({ limits }) => limits.concurrent !== undefined);
  const concurrent = widest?.limits.concurrent;
  if (widest === undefined || concurrent === undefined) return [];
  const all: ScopeClaim = {
    scope: widest.scope,
    id: `departed@${slot}`,
    shownId: widest.shownId ?? widest.id,
    limits: { concurrent: DEPARTED_MODELS_MAX * concurrent },
  };
  if (modelId === undefined) return [all];
  const shownId = `model:${modelId}`;
  const ofModel = { id: `departed:${modelId}@${slot}`, shownId, limits: { concurrent } };
  return [{ scope: "model", ...ofModel }, all];
}
