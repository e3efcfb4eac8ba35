import { asObject, textOf } from "../../kernel/index.ts";
import {
  contextOf,
  isUpstreamId,
  MODELS_MAX,
  type ServerKind,
  type SkippedModel,
  type SurveyedModel,
} from "./surveyed-model.ts";

/** What `GET /models` says. */
export interface ModelList {
  readonly kind: ServerKind;
  readonly models: readonly SurveyedModel[];
  /** Ids that a manifest cannot hold, as they came. */
  readonly unlistable: readonly string[];
  readonly skipped: readonly SkippedModel[];
}

/**
 * Reads the list of models that OpenAI's API has, with what vLLM and llama.cpp add.
 * Undefined: it is something else.
 */
export function readModels(json: unknown): ModelList | undefined {
  const data = asObject(json)?.["data"];
  if (!Array.isArray(data)) return undefined;
  const entries = data.slice(0, MODELS_MAX).map((each) => asObject(each) ?? {});
  const kind = kindOf(entries);
  const models = new Map<string, SurveyedModel>();
  const unlistable = new Set<string>();
  const skipped: SkippedModel[] = [];
  for (const entry of entries) {
    const id = idOf(entry["id"]);
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

/** Google's list writes `models/` before every id, and takes the id without it. */
function idOf(id: unknown): string | undefined {
  return textOf(id).replace(/^models\//, "") || undefined;
}

function kindOf(entries: readonly Entry[]): ServerKind {
  const owners = new Set(entries.map((each) => each["owned_by"]));
  if (owners.has("vllm") || entries.some((each) => Object.hasOwn(each, "max_model_len"))) {
    return "vllm";
  }
  const hasMeta = entries.some((each) => asObject(each["meta"])?.["n_ctx_train"] !== undefined);
  if (owners.has("llamacpp") || hasMeta) return "llama-cpp";
  return "other";
}

function statedContext(entry: Entry): Pick<SurveyedModel, "contextLength" | "contextFrom"> {
  const served = contextOf(entry["max_model_len"]);
  if (served !== undefined) return { contextLength: served, contextFrom: "max_model_len" };
  const meta = asObject(entry["meta"]);
  const trained = contextOf(meta?.["n_ctx_train"]);
  if (trained !== undefined) return { contextLength: trained, contextFrom: "n_ctx_train" };
  const named = contextOf(entry["context_length"]) ?? contextOf(entry["context_window"]);
  return named === undefined ? {} : { contextLength: named, contextFrom: "context_length" };
}
