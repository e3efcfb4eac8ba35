import { asObject, textOf } from "../../kernel/index.ts";
import {
  contextOf,
  quantizationOf,
  type SkippedModel,
  type SurveyedModel,
} from "./surveyed-model.ts";

/** What Ollama's `POST /api/show` says of a model that `/models` has listed. */
export function readOllamaModel(
  model: SurveyedModel,
  json: unknown,
): SurveyedModel | SkippedModel | undefined {
  const shown = asObject(json);
  const info = asObject(shown?.["model_info"]);
  const details = asObject(shown?.["details"]);
  if (shown === undefined || (info === undefined && details === undefined)) return undefined;
  const { upstreamId } = model;
  if (textOf(shown["remote_host"]) !== "") {
    const message = "Ollama sends its prompts to another host; list that host itself";
    return { model: upstreamId, code: "elsewhere", message };
  }
  const capabilities = Array.isArray(shown["capabilities"]) ? shown["capabilities"] : undefined;
  if (capabilities?.includes("completion") === false) {
    return { model: upstreamId, code: "not_chat", message: "it is not a chat model" };
  }
  const quantization = quantizationOf(details?.["quantization_level"]);
  return {
    upstreamId,
    ...contextOfModel(info, textOf(shown["parameters"])),
    ...(quantization === undefined ? {} : { quantization }),
    ...(capabilities?.includes("vision") === true ? { readsImages: true } : {}),
    ...(capabilities?.includes("tools") === true ? { callsTools: true } : {}),
  };
}

/** The context that Ollama has loaded each model with (`GET /api/ps`), by the model's name. */
export function readOllamaLoaded(json: unknown): ReadonlyMap<string, number> {
  const models = asObject(json)?.["models"];
  const loaded = new Map<string, number>();
  for (const each of Array.isArray(models) ? models.slice(0, LOADED_MAX) : []) {
    const entry = asObject(each);
    const context = contextOf(entry?.["context_length"]);
    if (context !== undefined) loaded.set(textOf(entry?.["name"]), context);
  }
  return loaded;
}

const LOADED_MAX = 1_000;

/** Ollama cuts a prompt silently at `num_ctx`, however long the model's own context is. */
function contextOfModel(
  info: Readonly<Record<string, unknown>> | undefined,
  parameters: string,
): Pick<SurveyedModel, "contextLength" | "contextFrom"> {
  const architecture = textOf(info?.["general.architecture"]);
  const own = contextOf(info?.[`${architecture}.context_length`]);
  const set = contextOf(Number(/^num_ctx\s+(\d{1,9})\s*$/m.exec(parameters)?.[1]));
  if (set !== undefined && (own === undefined || set <= own)) {
    return { contextLength: set, contextFrom: "num_ctx" };
  }
  return own === undefined ? {} : { contextLength: own, contextFrom: "the model file" };
}
