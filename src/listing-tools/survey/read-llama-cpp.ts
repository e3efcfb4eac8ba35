import { asObject } from "../../kernel/index.ts";
import { contextOf, type SurveyedModel } from "./surveyed-model.ts";

/**
 * What llama.cpp's `GET /props` says beside its list of models: the context that a request really has,
 * which is often shorter than what the model was trained with.
 */
export function withLlamaProps(
  models: readonly SurveyedModel[],
  json: unknown,
): readonly SurveyedModel[] {
  const props = asObject(json);
  const served = contextOf(asObject(props?.["default_generation_settings"])?.["n_ctx"]);
  const readsImages = asObject(props?.["modalities"])?.["vision"] === true;
  const callsTools = asObject(props?.["chat_template_caps"])?.["supports_tools"] === true;
  return models.map((model) => ({
    ...model,
    ...(served === undefined || served > (model.contextLength ?? Infinity)
      ? {}
      : { contextLength: served, contextFrom: "n_ctx" }),
    ...(readsImages ? { readsImages } : {}),
    ...(callsTools ? { callsTools } : {}),
  }));
}
