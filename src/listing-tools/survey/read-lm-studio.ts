import { asObject } from "../../kernel/index.ts";
import {
  contextOf,
  quantizationOf,
  type SkippedModel,
  type SurveyedModel,
} from "./surveyed-model.ts";

/** What LM Studio says of its models, by their ids. */
export type LmStudioList = ReadonlyMap<string, SurveyedModel | SkippedModel>;

/** Reads LM Studio's `GET /api/v0/models`. Undefined: it is something else. */
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
    // Other servers answer this path with their usual list: only these fields are LM Studio's.
    if (entry["max_context_length"] === undefined && entry["compatibility_type"] === undefined) {
      continue;
    }
    read.set(model.upstreamId, readEntry(model, entry));
  }
  return read.size === 0 ? undefined : read;
}

function readEntry(
  { upstreamId }: SurveyedModel,
  entry: Readonly<Record<string, unknown>>,
): SurveyedModel | SkippedModel {
  if (entry["type"] === "embeddings") {
    return { model: upstreamId, code: "not_chat", message: "it makes embeddings" };
  }
  const loaded = contextOf(entry["loaded_context_length"]);
  const most = contextOf(entry["max_context_length"]);
  const context = loaded ?? most;
  const quantization = quantizationOf(entry["quantization"]);
  const capabilities = Array.isArray(entry["capabilities"]) ? entry["capabilities"] : [];
  return {
    upstreamId,
    ...(context === undefined
      ? {}
      : {
          contextLength: context,
          contextFrom: loaded === undefined ? "max_context_length" : "loaded_context_length",
        }),
    ...(quantization === undefined ? {} : { quantization }),
    ...(entry["type"] === "vlm" ? { readsImages: true } : {}),
    ...(capabilities.includes("tool_use") ? { callsTools: true } : {}),
  };
}
