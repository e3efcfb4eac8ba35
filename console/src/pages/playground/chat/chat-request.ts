import type { Descriptor, Model } from "../../../api/contract.ts";
import { defined } from "../../../../../src/kernel/core/defined.ts";
import type { Attachment, ChatSettings, ParameterValues, Turn, Routing } from "./chat-types.ts";
import { member, text as toText } from "../gateway.ts";

export interface RequestMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[];
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

interface ShownParameter {
  readonly name: string;
  readonly descriptor: Descriptor;
}

/** Parameters without a field: lists, objects, flags, and `n`, because each model answers once. */
const STRUCTURES = new Set([
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "thinking",
  "reasoning",
  "logit_bias",
  "stream_options",
  "n",
]);

export function presentParameters(models: readonly Model[]): readonly ShownParameter[] {
  const shown = new Map<string, Descriptor>();
  for (const { parameters } of models) {
    for (const [name, descriptor] of Object.entries(parameters)) {
      if (!shown.has(name) && isSettable(name, descriptor)) shown.set(name, descriptor);
    }
  }
  return Array.from(shown, ([name, descriptor]) => ({ name, descriptor })).toSorted(
    (a, b) => findPlace(a.name) - findPlace(b.name) || (a.name < b.name ? -1 : 1),
  );
}

function isSettable(name: string, { type }: Descriptor): boolean {
  if (STRUCTURES.has(name)) return false;
  if (type === "range" || type === "integer" || type === "enum") return true;
  return name === "stop" || name === "response_format";
}

const ORDER = ["max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k"];

function findPlace(name: string): number {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
}

/** Builds the request body. It has only parameters that the model declares. */
export function chatBody(model: Model, settings: ChatSettings, turns: readonly Turn[]): object {
  return {
    model: model.id,
    messages: chatMessages(model.id, settings.system, turns),
    stream: true,
    ...requestParameters(model, settings),
  };
}

/** Builds the parameters of the body. A model's own setting overrides the setting for all models. */
export function requestParameters(model: Model, settings: ChatSettings): Record<string, unknown> {
  const values = { ...settings.parameters, ...settings.own?.[model.id] };
  return { ...sentParameters(model, values), ...buildStructures(model, settings) };
}

/**
 * Returns the conversation from the point of view of one model. If the model itself has not
 * answered a message, another model's answer to that message is used.
 */
export function chatMessages(
  modelId: string,
  system: string,
  turns: readonly Turn[],
): readonly RequestMessage[] {
  const messages: RequestMessage[] = [];
  if (system.trim() !== "") messages.push({ role: "system", content: system });
  for (const [at, turn] of turns.entries()) {
    const said = saidTo(modelId, turn);
    // This turn has only results of tool calls that another model made.
    if (said === undefined) continue;
    const isLast = at === turns.length - 1;
    const answer = isLast ? undefined : answerMessage(modelId, turn, turns[at + 1]);
    // An unanswered message is left out: otherwise, two messages of one role would be adjacent.
    if (isLast || answer !== undefined) messages.push(...said);
    if (answer !== undefined) messages.push(answer);
  }
  return messages;
}

function saidTo(modelId: string, turn: Turn): readonly RequestMessage[] | undefined {
  if (turn.toolResults === undefined) return [{ role: "user", content: userContent(turn) }];
  return turn.toolResults[modelId]?.map(({ callId, content }) => ({
    role: "tool",
    content,
    tool_call_id: callId,
  }));
}

/** The message has the tool calls only if their results follow: the API requires results. */
function answerMessage(
  modelId: string,
  { answers }: Turn,
  next: Turn | undefined,
): RequestMessage | undefined {
  const own = answers.find((each) => each.modelId === modelId);
  const calls = next?.toolResults?.[modelId] === undefined ? [] : (own?.toolCalls ?? []);
  if (own !== undefined && calls.length > 0) {
    const parts = calls.map(
      ({ id, ...called }) => ({ id, type: "function", function: called }) as const,
    );
    return { role: "assistant", content: own.text, tool_calls: parts };
  }
  const given = answers.find(({ text }) => text !== "");
  const answer = own !== undefined && own.text !== "" ? own : given;
  return answer === undefined ? undefined : { role: "assistant", content: answer.text };
}

function userContent({ text, attachments }: Turn): RequestMessage["content"] {
  if (attachments.length === 0) return text;
  return [...(text === "" ? [] : [{ type: "text", text }]), ...attachments.map(attachmentPart)];
}

function attachmentPart({ kind, name, dataUrl }: Attachment): object {
  if (kind === "image") return { type: "image_url", image_url: { url: dataUrl } };
  if (kind === "file") return { type: "file", file: { filename: name, file_data: dataUrl } };
  const format = /^data:audio\/(?:x-)?(?:wav|wave)/.test(dataUrl) ? "wav" : "mp3";
  return { type: "input_audio", input_audio: { data: dataUrl.split(",")[1] ?? "", format } };
}

export function sentParameters(model: Model, values: ParameterValues): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const { name, descriptor } of presentParameters([model])) {
    const value = values[name];
    if (value === undefined || value === "") continue;
    if (name === "stop") {
      const words = String(value)
        .split("\n")
        .filter((each) => each !== "");
      if (words.length > 0) sent["stop"] = words;
    } else if (name === "response_format" && descriptor.type !== "enum") {
      if (value === true) sent["response_format"] = { type: "json_object" };
    } else {
      sent[name] = within(descriptor, value);
    }
  }
  return sent;
}

/** Forces a value into this model's bounds, because it may have been set for another model. */
function within({ type, min, max, values }: Descriptor, value: string | number | boolean): unknown {
  if (type === "enum") return values?.includes(String(value)) === true ? value : values?.[0];
  if (typeof value !== "number") return value;
  return Math.min(max ?? value, Math.max(min ?? value, value));
}

export function takenKinds(models: readonly Model[]): readonly Attachment["kind"][] {
  return (["image", "file", "audio"] as const).filter(
    (kind) => models.length > 0 && models.every((each) => each.input_modalities.includes(kind)),
  );
}

const TOOLS_MAX = 64;
const JSON_CHARS_MAX = 100_000;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A blank field has neither a value nor a problem. */
interface Read<T> {
  readonly value?: T;
  readonly problem?: string;
}

function buildStructures(model: Model, settings: ChatSettings): Record<string, unknown> {
  const { value: tools } = readTools(settings.tools ?? "");
  const { value: schema } = readSchema(settings.schema ?? "");
  const provider = routingBody(settings.routing);
  const json_schema = { name: "answer", schema, strict: true };
  return {
    ...(tools !== undefined && takes(model, "tools") ? { tools } : {}),
    ...(schema !== undefined && takes(model, "response_format")
      ? { response_format: { type: "json_schema", json_schema } }
      : {}),
    ...(settings.isReasoningOff === true ? reasoningOff(model) : {}),
    ...(provider === undefined ? {} : { provider }),
  };
}

export function settingsProblem(settings: ChatSettings): string | undefined {
  const tools = readTools(settings.tools ?? "").problem;
  if (tools !== undefined) return `Tools: ${tools}`;
  const schema = readSchema(settings.schema ?? "").problem;
  return schema === undefined ? undefined : `JSON schema: ${schema}`;
}

/** Why no model can be asked, neither for a first answer nor for another one. */
export function askProblem(chosen: readonly Model[], settings: ChatSettings): string | undefined {
  return chosen.length === 0 ? unlistedProblem(settings.modelIds) : settingsProblem(settings);
}

export function unlistedProblem(modelIds: readonly string[]): string {
  const are = modelIds.length === 1 ? "is" : "are";
  return `${modelIds.join(", ")} ${are} no longer listed. Choose another model.`;
}

export function takes(model: Model, parameter: string): boolean {
  return model.parameters[parameter] !== undefined;
}

export function canReasonOff(model: Model): boolean {
  return Object.keys(reasoningOff(model)).length > 0;
}

function reasoningOff({ parameters }: Model): Record<string, unknown> {
  if (parameters["reasoning_effort"]?.values?.includes("none") === true) {
    return { reasoning_effort: "none" };
  }
  return parameters["thinking"] === undefined ? {} : { thinking: { type: "disabled" } };
}

/** Accepts tools in either chat API's format. Returns them in the format of chat completions. */
export function readTools(typed: string): Read<readonly object[]> {
  const { value, problem } = readJson(typed);
  if (problem !== undefined || value === undefined) return { ...(problem && { problem }) };
  if (!Array.isArray(value)) return { problem: "Enter a list of tools: [ … ]." };
  if (value.length > TOOLS_MAX) return { problem: `Enter at most ${TOOLS_MAX} tools.` };
  const tools: object[] = [];
  const names = new Set<string>();
  for (const [at, each] of value.entries()) {
    const bare: unknown = member(each, "function") ?? each;
    const name = toText(member(bare, "name")) ?? "";
    if (!TOOL_NAME.test(name)) {
      return { problem: `Tool ${at + 1} needs a name of letters, digits, "_" and "-".` };
    }
    if (names.has(name)) return { problem: `Two tools are named ${name}.` };
    names.add(name);
    const parameters = member(bare, "parameters") ?? member(bare, "input_schema");
    if (parameters !== undefined && !isObject(parameters)) {
      return { problem: `The parameters of ${name} must be a JSON schema (an object).` };
    }
    const description = toText(member(bare, "description"));
    const declared = parameters ?? { type: "object", properties: {} };
    tools.push({
      type: "function",
      function: defined({ name, description, parameters: declared }),
    });
  }
  return tools.length === 0 ? {} : { value: tools };
}

export function readSchema(typed: string): Read<object> {
  const { value, problem } = readJson(typed);
  if (problem !== undefined || value === undefined) return { ...(problem && { problem }) };
  return isObject(value)
    ? { value }
    : { problem: 'Write one JSON schema, such as {"type": "object"}.' };
}

function readJson(typed: string): Read<unknown> {
  if (typed.trim() === "") return {};
  if (typed.length > JSON_CHARS_MAX) return { problem: "This is too long." };
  try {
    return { value: JSON.parse(typed) as unknown };
  } catch {
    return { problem: "This is not valid JSON." };
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Builds the `provider` object of a request. Undefined means the gateway's default routing. */
export function routingBody(routing: Routing | undefined): object | undefined {
  const { order = [], only = [], ignore = [], isFirstOnly, isStrict } = routing ?? {};
  const lists = Object.entries({ order, only, ignore }).filter(([, ids]) => ids.length > 0);
  const body = {
    ...Object.fromEntries(lists),
    ...(isFirstOnly === true ? { allow_fallbacks: false } : {}),
    ...(isStrict === true ? { require_parameters: true } : {}),
  };
  return Object.keys(body).length === 0 ? undefined : body;
}
