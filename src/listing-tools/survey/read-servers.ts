import { asObject, defined, textOf } from "../../kernel/index.ts";
import { isUpstreamId } from "../listing-sources/entry-rules.ts";
import {
  parseContext,
  MODELS_MAX,
  parseQuantization,
  type ServerKind,
  type SkippedModel,
  type SurveyedModel,
} from "./surveyed-model.ts";

export interface ModelList {
  readonly kind: ServerKind;
  readonly models: readonly SurveyedModel[];
  /** Ids that a manifest cannot contain, as the endpoint writes them. */
  readonly unlistable: readonly string[];
  readonly skipped: readonly SkippedModel[];
}

/** Reads OpenAI's format, as vLLM and llama.cpp extend it. Undefined for any other JSON. */
export function readModels(json: unknown): ModelList | undefined {
  const data = asObject(json)?.["data"];
  if (!Array.isArray(data)) return undefined;
  const entries = data.slice(0, MODELS_MAX).map((each) => asObject(each) ?? {});
  const kind = detectKind(entries);
  const models = new Map<string, SurveyedModel>();
  const unlistable = new Set<string>();
  const skipped: SkippedModel[] = [];
  for (const entry of entries) {
    const id = parseId(entry["id"]);
    if (id === undefined) skipped.push(NAMELESS);
    else if (!isUpstreamId(id)) unlistable.add(id);
    else if (!models.has(id)) models.set(id, { upstreamId: id, ...statedContext(entry) });
  }
  if (data.length > MODELS_MAX) {
    const message = `the endpoint lists ${data.length} models; only the first ${MODELS_MAX} were read`;
    skipped.push({ model: `${data.length - MODELS_MAX} models`, code: "too_many", message });
  }
  return { kind, models: [...models.values()], unlistable: [...unlistable], skipped };
}

const NAMELESS: SkippedModel = {
  model: "?",
  code: "id",
  message: "an entry of the list has no id",
};

type Entry = Readonly<Record<string, unknown>>;
type StatedContext = Pick<SurveyedModel, "contextLength" | "contextFrom">;

/** Google lists ids with the prefix `models/`, but accepts them only without it. */
function parseId(id: unknown): string | undefined {
  return textOf(id).replace(/^models\//, "") || undefined;
}

function detectKind(entries: readonly Entry[]): ServerKind {
  const owners = new Set(entries.map((each) => each["owned_by"]));
  if (owners.has("vllm") || entries.some((each) => Object.hasOwn(each, "max_model_len"))) {
    return "vllm";
  }
  const hasMeta = entries.some((each) => asObject(each["meta"])?.["n_ctx_train"] !== undefined);
  if (owners.has("llamacpp") || hasMeta) return "llama-cpp";
  return "other";
}

function statedContext(entry: Entry): StatedContext {
  const served = parseContext(entry["max_model_len"]);
  if (served !== undefined) return { contextLength: served, contextFrom: "max_model_len" };
  const meta = asObject(entry["meta"]);
  const trained = parseContext(meta?.["n_ctx_train"]);
  if (trained !== undefined) return { contextLength: trained, contextFrom: "n_ctx_train" };
  const named = parseContext(entry["context_length"]) ?? parseContext(entry["context_window"]);
  return named === undefined ? {} : { contextLength: named, contextFrom: "context_length" };
}

/** Reads `GET /props`: the real context of a request is often shorter than the model's own. */
export function withLlamaProps(
  models: readonly SurveyedModel[],
  json: unknown,
): readonly SurveyedModel[] {
  const props = asObject(json);
  const served = parseContext(asObject(props?.["default_generation_settings"])?.["n_ctx"]);
  const readsImages = asObject(props?.["modalities"])?.["vision"] === true;
  const callsTools = asObject(props?.["chat_template_caps"])?.["supports_tools"] === true;
  return models.map((model) => ({
    ...model,
    ...(served !== undefined &&
      served <= (model.contextLength ?? Infinity) && {
        contextLength: served,
        contextFrom: "n_ctx",
      }),
    ...(readsImages && { readsImages }),
    ...(callsTools && { callsTools }),
  }));
}

/** LM Studio's report about each model, by model id. */
export type LmStudioList = ReadonlyMap<string, SurveyedModel | SkippedModel>;

/** Reads LM Studio's `GET /api/v0/models`. Undefined if it describes none of the listed models. */
export function readLmStudio(
  json: unknown,
  listed: readonly SurveyedModel[],
): LmStudioList | undefined {
  const data = asObject(json)?.["data"];
  if (!Array.isArray(data)) return undefined;
  const known = new Map(listed.map((model) => [model.upstreamId, model]));
  const read = new Map<string, SurveyedModel | SkippedModel>();
  for (const each of data) {
    const entry = asObject(each);
    const model = known.get(String(entry?.["id"]));
    if (entry === undefined || model === undefined) continue;
    // Other servers answer `/api/v0/models` with their usual list, which has neither field.
    if (entry["max_context_length"] === undefined && entry["compatibility_type"] === undefined) {
      continue;
    }
    read.set(model.upstreamId, readEntry(model, entry));
  }
  return read.size === 0 ? undefined : read;
}

function readEntry({ upstreamId }: SurveyedModel, entry: Entry): SurveyedModel | SkippedModel {
  if (entry["type"] === "embeddings") {
    return { model: upstreamId, code: "not_chat", message: "it makes embeddings" };
  }
  const loaded = parseContext(entry["loaded_context_length"]);
  const most = parseContext(entry["max_context_length"]);
  const context = loaded ?? most;
  const contextFrom = loaded === undefined ? "max_context_length" : "loaded_context_length";
  const capabilities = Array.isArray(entry["capabilities"]) ? entry["capabilities"] : [];
  return {
    upstreamId,
    ...(context !== undefined && { contextLength: context, contextFrom }),
    ...defined({ quantization: parseQuantization(entry["quantization"]) }),
    ...(entry["type"] === "vlm" && { readsImages: true }),
    ...(capabilities.includes("tool_use") && { callsTools: true }),
  };
}

/** Reads Ollama's `POST /api/show` about a model of `/models`. Undefined for any other JSON. */
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
  return {
    upstreamId,
    ...contextOfModel(info, textOf(shown["parameters"])),
    ...defined({ quantization: parseQuantization(details?.["quantization_level"]) }),
    ...(capabilities?.includes("vision") === true && { readsImages: true }),
    ...(capabilities?.includes("tools") === true && { callsTools: true }),
  };
}

/** By model name: the context with which Ollama has loaded the model (`GET /api/ps`). */
export function readOllamaLoaded(json: unknown): ReadonlyMap<string, number> {
  const models = asObject(json)?.["models"];
  const loaded = new Map<string, number>();
  for (const each of Array.isArray(models) ? models.slice(0, LOADED_MAX) : []) {
    const entry = asObject(each);
    const context = parseContext(entry?.["context_length"]);
    if (context !== undefined) loaded.set(textOf(entry?.["name"]), context);
  }
  return loaded;
}

const LOADED_MAX = 1_000;

/** The smaller of the model's context and `num_ctx`, at which Ollama silently cuts prompts. */
function contextOfModel(info: Entry | undefined, parameters: string): StatedContext {
  const architecture = textOf(info?.["general.architecture"]);
  const own = parseContext(info?.[`${architecture}.context_length`]);
  const set = parseContext(Number(/^num_ctx\s+(\d{1,9})\s*$/m.exec(parameters)?.[1]));
  if (set !== undefined && (own === undefined || set <= own)) {
    return { contextLength: set, contextFrom: "num_ctx" };
  }
  return own === undefined ? {} : { contextLength: own, contextFrom: "the model file" };
}
