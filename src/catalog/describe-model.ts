import type { InputModality, ListedModel } from "./catalog.ts";

/** The makers of models by an id's first part; a host's own ids have none. */
const LABS: Readonly<Record<string, string>> = {
  amazon: "Amazon",
  anthropic: "Anthropic",
  cohere: "Cohere",
  deepseek: "DeepSeek",
  google: "Google",
  "meta-llama": "Meta",
  meta: "Meta",
  minimax: "MiniMax",
  mistralai: "Mistral AI",
  moonshotai: "Moonshot AI",
  openai: "OpenAI",
  qwen: "Alibaba",
  "x-ai": "xAI",
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

/** Parameters of which one is enough, and what the model then has. */
const ABILITIES: readonly (readonly [parameters: readonly string[], ability: string])[] = [
  [["tools"], "tools"],
  [["structured_outputs", "response_format"], "JSON answers"],
  [["reasoning_effort", "thinking", "reasoning"], "reasoning"],
];

/** One sentence about a model: that of its listing, else one of the facts that listings declare. */
export function describeModel(
  model: Pick<
    ListedModel,
    "id" | "modality" | "inputModalities" | "supportedParameters" | "description"
  >,
): string {
  if (model.description !== undefined) return model.description;
  const lab = model.id.slice(0, Math.max(0, model.id.indexOf("/")));
  const kind = KINDS[model.modality];
  const what = Object.hasOwn(LABS, lab) ? `${LABS[lab]}'s ${kind}` : sentence(kind);
  const inputs = listed(model.inputModalities.map((each) => INPUTS[each]));
  const abilities = ABILITIES.flatMap(([names, ability]) =>
    names.some((name) => model.supportedParameters.has(name)) ? [ability] : [],
  );
  return `${what} ${inputs}${abilities.length === 0 ? "" : `, with ${listed(abilities)}`}.`;
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
