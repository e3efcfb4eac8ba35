import type { SimAnswer } from "../../../src/dev/simulator/answer.ts";
import type { Dialect, Envelope, Frame } from "../../../src/dev/simulator/dialect.ts";
import { isObject, pickObjects, type JsonObject } from "../../../src/dev/simulator/json.ts";
import { findRefusal } from "./refusals.ts";
import { STRICT_PROVIDERS, type StrictProvider } from "./strict-providers.ts";

/**
 * Returns the dialect as spoken by the provider in the path, such as `/as-mistral/v1/models`. If
 * the path names none, or one of another wire, returns the dialect itself.
 */
export function speakStrictly(dialect: Dialect, wire: string, path: string): Dialect {
  const id = /^\/as-([a-z0-9-]+)\//.exec(path)?.[1];
  const provider = id === undefined ? undefined : STRICT_PROVIDERS[id];
  if (provider?.wire !== wire) return dialect;
  return {
    ...dialect,
    findProblem: (body, headers) =>
      findRefusal(provider, body, headers) ??
      dialect.findProblem(usualForm(provider, body), headers),
    read: (body) => {
      const read = dialect.read(usualForm(provider, body));
      const isUnasked = provider.usage !== undefined && read.stream;
      return isUnasked ? { ...read, includeUsage: true } : read;
    },
    json: (answer, envelope) =>
      altered(
        provider,
        dialect.json(visible(provider, answer), gapped(provider, answer, envelope)),
      ),
    frames: (answer, envelope) => {
      const shown = visible(provider, answer);
      const frames = dialect.frames(shown, gapped(provider, answer, envelope));
      return provider.wire === "wire_a" ? alteredFrames(provider, frames) : frames;
    },
  };
}

/** Converts the provider's own form of a body to that of its wire, which the dialect can read. */
function usualForm(provider: StrictProvider, body: JsonObject): JsonObject {
  if (provider.wire === "wire_b") return body;
  const { random_seed: seed, provider: _routing, ...rest } = body;
  const tools = withoutMarks(rest["tools"]);
  return {
    ...rest,
    ...(seed !== undefined && { seed }),
    ...(rest["tool_choice"] === "any" && { tool_choice: "required" }),
    messages: withoutExtras(withoutMarks(rest["messages"])),
    ...(tools !== undefined && { tools }),
  };
}

/** Removes `cache_control`: a provider that does not refuse it ignores it. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const { cache_control: _mark, ...rest } = value;
  return Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, withoutMarks(each)]));
}

function withoutExtras(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages;
  return messages.map((message: unknown) => {
    if (!isObject(message) || message["tool_calls"] === undefined) return message;
    const calls = pickObjects(message["tool_calls"]).map(
      ({ extra_content: _signature, ...call }) => call,
    );
    return { ...message, tool_calls: calls };
  });
}

/** Thinking tokens that a provider with `hidesReasoning` counts in the total only. */
const HIDDEN_TOKENS = 40;

function visible({ hidesReasoning }: StrictProvider, answer: SimAnswer): SimAnswer {
  return hidesReasoning === true ? { ...answer, thinking: "" } : answer;
}

function gapped(provider: StrictProvider, { usage }: SimAnswer, envelope: Envelope): Envelope {
  if (provider.hidesReasoning !== true || envelope.usage === null) return envelope;
  const total_tokens = usage.prompt + usage.output + HIDDEN_TOKENS;
  return { ...envelope, usage: { total_tokens, ...envelope.usage } };
}

function altered(provider: StrictProvider, completion: JsonObject): JsonObject {
  if (provider.wire === "wire_b") return completion;
  const choices = pickObjects(completion["choices"]).map((choice) => {
    const { message } = choice;
    if (!isObject(message) || message["tool_calls"] === undefined) return choice;
    const calls = pickObjects(message["tool_calls"]).map((call, index) =>
      signed(provider, call, index),
    );
    const finish = provider.silentCalls === true ? { finish_reason: "" } : {};
    return { ...choice, ...finish, message: { ...message, tool_calls: calls } };
  });
  return { ...completion, choices };
}

/** Signs a call if it is the first of parallel calls; the provider leaves the others unsigned. */
function signed({ signs }: StrictProvider, call: JsonObject, index: number): JsonObject {
  if (signs !== true || index > 0) return call;
  const text = `thought of ${JSON.stringify(call["function"])}`;
  const thought_signature = Buffer.from(text).toString("base64");
  return { ...call, extra_content: { google: { thought_signature } } };
}

function alteredFrames(provider: StrictProvider, frames: readonly Frame[]): readonly Frame[] {
  const usage = frames.find(({ kind }) => kind === "usage");
  const isInChoice = provider.usage === "in-choice";
  return frames.flatMap((frame) => {
    if (isInChoice && frame.kind === "usage") return [];
    if (frame.kind !== "content" && frame.kind !== "finish") return [frame];
    const chunk = JSON.parse(frame.data) as JsonObject;
    const [choice] = pickObjects(chunk["choices"]);
    if (choice === undefined) return [frame];
    const changed = alteredChoice(provider, choice, frame.kind === "finish" ? usage : undefined);
    const { usage: _slot, ...rest } = chunk;
    return [
      { ...frame, data: JSON.stringify({ ...(isInChoice ? rest : chunk), choices: [changed] }) },
    ];
  });
}

function alteredChoice(
  provider: StrictProvider,
  choice: JsonObject,
  usage: Frame | undefined,
): JsonObject {
  const { delta, finish_reason: finish } = choice;
  const isSilent = provider.silentCalls === true && finish === "tool_calls";
  const reported =
    usage === undefined ? undefined : (JSON.parse(usage.data) as JsonObject)["usage"];
  const isInChoice = provider.usage === "in-choice" && reported !== undefined;
  const calls = isObject(delta) ? pickObjects(delta["tool_calls"]) : [];
  const [call] = calls;
  const isOpening = call !== undefined && call["id"] !== undefined;
  const opened = isOpening ? signed(provider, call, Number(call["index"])) : undefined;
  return {
    ...choice,
    ...(isSilent && { finish_reason: "" }),
    ...(isInChoice && { usage: reported }),
    ...(opened !== undefined && isObject(delta) && { delta: { ...delta, tool_calls: [opened] } }),
  };
}
