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
  type QuestionTools,
  readCommonMembers,
  turnMessages,
} from "../neutral/provider-answer.ts";

export const providerQuestions: ProviderQuestions = {
  writeBody,
  readWhole: readCompletion,
  readStream: readChunks,
  finishes: { stopped: ["stop"], cut: ["length"] },
};

function writeBody(question: ChatQuestion) {
  const { maxTokens, stream, system, stops, tools, schema } = question;
  return {
    max_tokens: maxTokens,
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...turnMessages(question),
      ...(tools?.result === undefined ? [] : answeredCall(tools.of[0], tools.result)),
    ],
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...(stops && { stop: stops }),
    ...(tools && toolFields(tools)),
    ...(schema && {
      response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
    }),
  };
}

function toolFields({ of, choice, isSingle }: QuestionTools): object {
  const named = typeof choice === "object" ? { type: "function", function: choice } : choice;
  return {
    tools: of.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
    ...(named && { tool_choice: named }),
    ...(isSingle && { parallel_tool_calls: false }),
  };
}

function answeredCall(tool: QuestionTool | undefined, result: string): readonly object[] {
  const named = { name: tool?.name, arguments: JSON.stringify(tool?.given) };
  return [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: CALL_ID, type: "function", function: named }],
    },
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
  return {
    text: textOf(message?.["content"]),
    thinking: thinkingIn(message),
    ...readCommonMembers(json, finish),
    calls: objectsIn(message?.["tool_calls"]).map(toProviderCall),
    flaws,
  };
}

function thinkingIn(message: Fields | undefined): string {
  return textOf(message?.["reasoning_content"]) || textOf(message?.["reasoning"]);
}

function toProviderCall(call: Fields): ProviderCall {
  const fn = asObject(call["function"]);
  return {
    id: textOf(call["id"]),
    name: textOf(fn?.["name"]),
    argumentsText: textOf(fn?.["arguments"]),
  };
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
  return {
    text: parts.text,
    thinking: parts.thinking,
    finish: parts.finish,
    models: known.map((chunk) => textOf(chunk["model"])).filter((model) => model !== ""),
    usage: known.map((chunk) => asObject(chunk["usage"])).findLast((usage) => usage !== undefined),
    calls: parts.calls,
    flaws,
  };
}

class ChunkParts {
  text = "";
  thinking = "";
  finish: string | undefined;
  readonly flaws: string[] = [];
  readonly #calls = new Map<number, ProviderCall>();

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
    this.thinking += thinkingIn(delta);
    for (const call of calls) this.#takeCall(call);
    if (typeof finish !== "string") return;
    if (this.finish !== undefined) this.#flaw("there is more than one finish reason");
    this.finish = finish;
  }

  #takeCall(part: Fields): void {
    const index = typeof part["index"] === "number" ? part["index"] : 0;
    const { id, name, argumentsText } = toProviderCall(part);
    const known = this.#calls.get(index) ?? { id: "", name: "", argumentsText: "" };
    this.#calls.set(index, {
      id: known.id || id,
      name: known.name || name,
      argumentsText: known.argumentsText + argumentsText,
    });
  }

  #flaw(words: string): void {
    if (!this.flaws.includes(words)) this.flaws.push(words);
  }
}
