import type { Model } from "../api/contract.ts";
import { useAnswer } from "../api/use-answer.ts";
import { pickSampleModel } from "./pick-sample-model.ts";

export function useSampleModel(): string {
  return useSample(null).modelId;
}

/**
 * Chooses a sample model that a key may call. `allowed` is the key's list of models, or null for
 * all of them. While the catalog loads, the ID is the first of the list, or else `MODEL_ID`.
 */
export function useSample(allowed: readonly string[] | null): {
  readonly modelId: string;
  readonly model: Model | undefined;
} {
  const listed = useAnswer("GET /api/catalog.json").data?.models ?? [];
  const providers = useAnswer("GET /api/providers.json").data?.providers ?? [];
  const models = allowed === null ? listed : listed.filter(({ id }) => allowed.includes(id));
  const picked = pickSampleModel(models, providers);
  const model =
    models.find(({ id }) => id === picked) ?? (allowed === null ? undefined : models[0]);
  return { model, modelId: model?.id ?? allowed?.[0] ?? "MODEL_ID" };
}
