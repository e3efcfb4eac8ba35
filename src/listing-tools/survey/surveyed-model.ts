import { Type } from "typebox";

import { conforms, cutText } from "../../kernel/index.ts";

/** The program that serves the endpoint, by which a survey chooses its further requests. */
export type ServerKind = "vllm" | "llama-cpp" | "ollama" | "lmstudio" | "other";

export interface SurveyedModel {
  readonly upstreamId: string;
  /** In tokens, for prompt and output together; absent if the endpoint does not say. */
  readonly contextLength?: number;
  /** The field that stated the context length, for messages. */
  readonly contextFrom?: string;
  readonly quantization?: string;
  /** Absent if the endpoint does not say so: the model may still read images or call tools. */
  readonly readsImages?: true;
  readonly callsTools?: true;
}

/** A model that is not listed. `message` states the reason; `model` is safe to print. */
export interface SkippedModel {
  readonly model: string;
  readonly code: "id" | "not_chat" | "elsewhere" | "too_many";
  readonly message: string;
}

/** Maximum number of models that are read from one endpoint. An aggregator has some hundreds. */
export const MODELS_MAX = 2_000;
const isContext = conforms(Type.Integer({ minimum: 1, maximum: 100_000_000 }));
const isQuantization = conforms(Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$" }));

/** A context length in tokens; undefined if no model can have it. */
export function parseContext(value: unknown): number | undefined {
  return isContext(value) ? value : undefined;
}

/** Reads a quantization such as `Q4_K_M`. Undefined if a listing cannot contain it. */
export function parseQuantization(value: unknown): string | undefined {
  return isQuantization(value) ? value : undefined;
}

/** The model's part of a marketplace id, such as `qwen3-8b` for `qwen3:8b`. */
export function modelName(upstreamId: string): string {
  return upstreamId.replace(/:latest$/, "").replace(":", "-");
}

export function unlistableId(id: string, kind: ServerKind): SkippedModel {
  const model = presentText(id);
  const other = otherName(id);
  const isTag = kind === "ollama" && /^[\w./-]{1,120}:[\w.-]{1,60}$/.test(id);
  const step = isTag
    ? `give it a name that fits: ollama cp ${id} ${other}`
    : STEPS[kind].replace("NAME", other);
  const message = `a manifest cannot hold this id (letters, digits and . _ / -, then at most one lower-case tag); ${step}`;
  return { model, code: "id", message };
}

const STEPS: Readonly<Record<ServerKind, string>> = {
  vllm: "start vLLM with --served-model-name NAME",
  "llama-cpp": "start the server with --alias NAME",
  ollama: "give it another name with `ollama cp`",
  lmstudio: "load it under another identifier: lms load … --identifier NAME",
  other: "let the server give it another name, such as NAME",
};

function otherName(id: string): string {
  const base = id.replace(/\.gguf$/i, "").replace(/^.*\/(?=[^/]+$)/, "");
  const fits = base.replaceAll(/[^a-zA-Z0-9._-]+/g, "-").replace(/^[^a-zA-Z0-9]+/, "");
  return fits.slice(0, 120) || "model";
}

/** Makes a text safe for a terminal: one short line, `?` for what does not print. */
export function presentText(text: string): string {
  return cutText(text).replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "?");
}
