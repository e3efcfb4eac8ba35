import { useAnswer } from "../api/use-answer.ts";
import { pickSampleModel } from "./pick-sample-model.ts";

/** A model that a sample call runs with as it is; a placeholder until it is known. */
export function useSampleModel(): string {
  const models = useAnswer("GET /api/catalog.json").data?.models ?? [];
  const providers = useAnswer("GET /api/providers.json").data?.providers ?? [];
  return pickSampleModel(models, providers) ?? "MODEL_ID";
}
