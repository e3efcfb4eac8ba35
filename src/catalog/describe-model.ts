import type { InputModality, ListedModel } from "./catalog.ts";

const LABS: Readonly<Record<string, string>> = {
  ai21: "AI21",
  "aion-labs": "AionLabs",
  allenai: "Ai2",
  amazon: "Amazon",
  anthropic: "Anthropic",
  "arcee-ai": "Arcee AI",
  baidu: "Baidu",
  bytedance: "ByteDance",
  cohere: "Cohere",
  deepcogito: "Deep Cogito",
  deepseek: "DeepSeek",
  "deepseek-ai": "DeepSeek",
  google: "Google",
  "ibm-granite": "IBM",
  inception: "Inception",
  inclusionai: "inclusionAI",
  inflection: "Inflection",
  kwaipilot: "Kwaipilot",
  liquid: "Liquid AI",
  meta: "Meta",
  "meta-llama": "Meta",
  "meta-models": "Meta",
  microsoft: "Microsoft",
  minimax: "MiniMax",
  mistralai: "Mistral AI",
  moonshotai: "Moonshot AI",
  morph: "Morph",
  nousresearch: "Nous Research",
  nvidia: "NVIDIA",
  openai: "OpenAI",
  perceptron: "Perceptron",
  perplexity: "Perplexity",
  qwen: "Alibaba",
  reflection: "Reflection",
  rekaai: "Reka",
  relace: "Relace",
  "ricursive-ai": "Ricursive",
  sao10k: "Sao10K",
  stepfun: "StepFun",
  tencent: "Tencent",
  thedrummer: "TheDrummer",
  upstage: "Upstage",
  writer: "Writer",
  "x-ai": "xAI",
  xiaomi: "Xiaomi",
  "z-ai": "Z.ai",
};

const KINDS: Readonly<Record<ListedModel["modality"], string>> = {
  text: "chat model for",
  image: "image model from",
  video: "video model from",
  decisions: "decision model for",
};

const INPUTS: Readonly<Record<InputModality, string>> = {
  text: "text",
  image: "images",
  file: "files",
  audio: "sound",
  video: "video",
};

/** A model has an ability if it supports at least one of the parameters. */
const ABILITIES: readonly (readonly [parameters: readonly string[], ability: string])[] = [
  [["tools"], "tools"],
  [["structured_outputs", "response_format"], "JSON answers"],
  [["reasoning_effort", "thinking", "reasoning"], "reasoning"],
];

export function describeModel(
  model: Pick<
    ListedModel,
    "id" | "modality" | "inputModalities" | "supportedParameters" | "description" | "contextLength"
  >,
): string {
  if (model.description !== undefined) return model.description;
  // An id such as `host/lab/model` has its lab in the second segment.
  const lab = model.id.split("/", 2).find((part) => Object.hasOwn(LABS, part));
  const kind = KINDS[model.modality];
  const what = lab === undefined ? sentence(kind) : `${LABS[lab]}'s ${kind}`;
  const inputs = listed(model.inputModalities.map((each) => INPUTS[each]));
  const abilities = ABILITIES.flatMap(([names, ability]) =>
    names.some((name) => model.supportedParameters.has(name)) ? [ability] : [],
  );
  if (model.contextLength !== undefined) {
    abilities.push(`${shortCount(model.contextLength)} tokens of context`);
  }
  return `${what} ${inputs}${abilities.length === 0 ? "" : `, with ${listed(abilities)}`}.`;
}

/** Writes 200000 as `200K` and 1050000 as `1.05M`. */
function shortCount(count: number): string {
  const [unit, of] = count < MILLION ? (["K", THOUSAND] as const) : (["M", MILLION] as const);
  return count < THOUSAND ? String(count) : `${Number((count / of).toPrecision(3))}${unit}`;
}

const THOUSAND = 1_000;
const MILLION = 1_000_000;

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
