import { asObject, textOf } from "../../../kernel/index.ts";
import {
  type ChatQuestion,
  type Fields,
  objectsIn,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderEvent,
  type ProviderQuestions,
  type QuestionTool,
} from "../neutral/provider-answer.ts";

/** How providers of this wire are questioned by conformance checks. */
export const providerQuestions: ProviderQuestions = {
  writeBody,
  readWhole: readCompletion,
  readStream: readChunks,
  finishes: { stopped: ["stop"], cut: ["length"] },
};

function writeBody({ text, maxTokens, stream, stop, tool }: ChatQuestion) {
  const history = tool?.kind === "answered" ? answeredCall(tool.of) : [];
  return {
    max_tokens: maxTokens,
    messages: [{ role: "user", content: text }, ...history],
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(stop === undefined ? {} : { stop: [stop] }),
    ...(tool === undefined ? {} : { tools: [toolOf(tool.of)] }),
    ...(tool?.kind === "forced"
      ? { tool_choice: { type: "function", function: { name: tool.of.name } } }
      : {}),
  };
}

function toolOf({ name, description, schema }: QuestionTool): object {
  return { type: "function", function: { name, description, parameters: schema } };
}

function answeredCall({ name, given, result }: QuestionTool): readonly object[] {
  const call = {
    id: CALL_ID,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  };
  return [
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: CALL_ID, content: result },
  ];
}

const CALL_ID = "call_conformance1";

function readCompletion(json: Fields | undefined): ProviderAnswer {
  const flaws: string[] = [];
  const choices = objectsIn(json?.["choices"]);
  const message = asObject(choices[0]?.["message"]);
  const finish = choices[0]?.["finish_reason"];
  if (json === undefined) flaws.push("the body is not a JSON object");
  else {
    if (textOf(json["id"]) === "") flaws.push("id is missing");
    if (json["object"] !== "chat.completion") flaws.push("object is not chat.completion");
    if (choices.length !== 1) flaws.push(`${choices.length} choices instead of one`);
    if (message?.["role"] !== "assistant") flaws.push("choices[0].message.role is not assistant");
    const content = message?.["content"];
    if (content !== null && content !== undefined && typeof content !== "string") {
      flaws.push("choices[0].message.content is neither text nor null");
    }
    if (typeof finish !== "string") flaws.push("choices[0].finish_reason is not a text");
  }
  const model = textOf(json?.["model"]);
  return {
    text: textOf(message?.["content"]),
    finish: typeof finish === "string" ? finish : undefined,
    models: model === "" ? [] : [model],
    isModelEverywhere: model !== "",
    usage: asObject(json?.["usage"]),
    calls: objectsIn(message?.["tool_calls"]).map(callOf),
    flaws,
  };
}

function callOf(call: Fields): ProviderCall {
  const fn = asObject(call["function"]);
  return { name: textOf(fn?.["name"]), argumentsText: textOf(fn?.["arguments"]) };
}

const DONE = "[DONE]";

function readChunks(events: readonly ProviderEvent[]): ProviderAnswer {
  const flaws: string[] = [];
  const done = events.findIndex(({ text }) => text.trim() === DONE);
  if (done < 0) flaws.push("the stream has no [DONE]");
  else if (done < events.length - 1) flaws.push(`${events.length - 1 - done} events follow [DONE]`);
  const chunks = events.filter(({ text }) => text.trim() !== DONE);
  if (chunks.some(({ json }) => json === undefined)) flaws.push("an event is not a JSON object");
  const known = chunks.flatMap(({ json }) => (json === undefined ? [] : [json]));
  const parts = new ChunkParts();
  for (const chunk of known) parts.take(chunk);
  flaws.push(...parts.flaws);
  const models = known.map((chunk) => textOf(chunk["model"]));
  return {
    text: parts.text,
    finish: parts.finish,
    models: models.filter((model) => model !== ""),
    isModelEverywhere: known.length > 0 && models.every((model) => model !== ""),
    usage: known.map((chunk) => asObject(chunk["usage"])).findLast((usage) => usage !== undefined),
    calls: parts.calls,
    flaws,
  };
}

/** What the chunks of one answer say together. */
class ChunkParts {
  text = "";
  finish: string | undefined;
  readonly flaws: string[] = [];
  readonly #calls = new Map<number, { name: string; argumentsText: string }>();

  get calls(): readonly ProviderCall[] {
    return [...this.#calls.values()];
  }

  take(chunk: Fields): void {
    const choices = objectsIn(chunk["choices"]);
    if (choices.length > 1) this.#flaw("a chunk has more than one choice");
    const delta = asObject(choices[0]?.["delta"]);
    const finish = choices[0]?.["finish_reason"];
    const content = textOf(delta?.["content"]);
    const calls = objectsIn(delta?.["tool_calls"]);
    if (this.finish !== undefined && (content !== "" || calls.length > 0)) {
      this.#flaw("content follows the finish reason");
    }
    this.text += content;
    for (const call of calls) this.#takeCall(call);
    if (typeof finish !== "string") return;
    if (this.finish !== undefined) this.#flaw("there is more than one finish reason");
    this.finish = finish;
  }

  #takeCall(part: Fields): void {
    const index = typeof part["index"] === "number" ? part["index"] : 0;
    const { name, argumentsText } = callOf(part);
    const known = this.#calls.get(index) ?? { name: "", argumentsText: "" };
    this.#calls.set(index, {
      name: known.name || name,
      argumentsText: known.argumentsText + argumentsText,
    });
  }

  #flaw(words: string): void {
    if (!this.flaws.includes(words)) this.flaws.push(words);
  }
}
