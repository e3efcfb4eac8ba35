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
  qwen: "Alibaba's Qwen team",
  "x-ai": "xAI",
  "z-ai": "Z.ai",
};

const KINDS: Readonly<Record<ListedModel["modality"], string>> = {
  text: "Chat model",
  image: "Image model",
  video: "Video model",
  decisions: "Decision model",
};

const INPUTS: Readonly<Record<InputModality, string>> = {
  text: "text",
  image: "images",
  file: "files",
  audio: "sound",
  video: "video",
};

/** Parameters of which one is enough, and what the model then does. */
const ABILITIES: readonly (readonly [parameters: readonly string[], says: string])[] = [
  [["tools"], "calls tools"],
  [["structured_outputs", "response_format"], "answers in JSON"],
  [["reasoning_effort", "thinking", "reasoning"], "reasons before it answers"],
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
  const by = Object.hasOwn(LABS, lab) ? ` by ${LABS[lab]}` : "";
  const inputs = model.inputModalities.map((each) => INPUTS[each]);
  const abilities = ABILITIES.flatMap(([names, says]) =>
    names.some((name) => model.supportedParameters.has(name)) ? [says] : [],
  );
  const facts = [`reads ${listed(inputs)}`, ...abilities];
  return `${KINDS[model.modality]}${by}: ${listed(facts, ", ")}.`;
}

function listed(words: readonly string[], before = " "): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")}${before}and ${last}`;
}
