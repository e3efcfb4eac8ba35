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
  readWhole: readWholeMessage,
  readStream: readMessageEvents,
  finishes: { stopped: ["end_turn", "stop_sequence"], cut: ["max_tokens"] },
};

function writeBody(question: ChatQuestion) {
  const { maxTokens, stream, system, stops, tools, schema } = question;
  return {
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    messages: [
      ...turnMessages(question),
      ...(tools?.result === undefined ? [] : answeredCall(tools.of[0], tools.result)),
    ],
    ...(stream && { stream: true }),
    ...(stops && { stop_sequences: stops }),
    ...(tools && toolFields(tools)),
    ...(schema && { output_config: { format: { type: "json_schema", schema } } }),
  };
}

function toolFields({ of, choice, isSingle }: QuestionTools): object {
  const chosen =
    choice === undefined
      ? { type: "auto" }
      : typeof choice === "object"
        ? { type: "tool", ...choice }
        : { type: choice === "required" ? "any" : choice };
  const single = isSingle && { disable_parallel_tool_use: true };
  return {
    tools: of.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    ...((choice ?? isSingle) && { tool_choice: { ...chosen, ...single } }),
  };
}

function answeredCall(tool: QuestionTool | undefined, result: string): readonly object[] {
  const call = { type: "tool_use", id: CALL_ID, name: tool?.name, input: tool?.given };
  const answered = { type: "tool_result", tool_use_id: CALL_ID, content: result };
  return [
    { role: "assistant", content: [call] },
    { role: "user", content: [answered] },
  ];
}

const CALL_ID = "toolu_conformance1";

function readWholeMessage(json: Fields | undefined): ProviderAnswer {
  const flaws: string[] = [];
  const finish = json?.["stop_reason"];
  const blocks = objectsIn(json?.["content"]);
  if (json === undefined) flaws.push("the body is not a JSON object");
  else {
    if (textOf(json["id"]) === "") flaws.push("id is missing");
    if (json["type"] !== "message") flaws.push("type is not message");
    if (json["role"] !== "assistant") flaws.push("role is not assistant");
    if (!Array.isArray(json["content"])) flaws.push("content is not a list");
    if (typeof finish !== "string") flaws.push("stop_reason is not a text");
  }
  return {
    text: blocks.map((block) => textOf(block["text"])).join(""),
    thinking: blocks.map((block) => textOf(block["thinking"])).join(""),
    ...readCommonMembers(json, finish),
    calls: blocks.filter((block) => block["type"] === "tool_use").map(wholeCall),
    flaws,
  };
}

function wholeCall(block: Fields): ProviderCall {
  const argumentsText = JSON.stringify(block["input"] ?? null);
  return { id: textOf(block["id"]), name: textOf(block["name"]), argumentsText };
}

function readMessageEvents(events: readonly ProviderEvent[]): ProviderAnswer {
  const parts = new MessageParts();
  for (const event of events) parts.take(event);
  return parts.read();
}

interface OpenBlock {
  readonly index: unknown;
  readonly start: Fields | undefined;
  argumentsText: string;
}

class MessageParts {
  #text = "";
  #thinking = "";
  #finish: string | undefined;
  #model = "";
  #usage: Fields | undefined;
  #state: "before" | "open" | "delta" | "stopped" = "before";
  #block: OpenBlock | undefined;
  #blocks = 0;
  readonly #calls: ProviderCall[] = [];
  readonly #flaws: string[] = [];

  take({ name, text, json }: ProviderEvent): void {
    if (json === undefined)
      return this.#flaw(`an event is not a JSON object: ${text === "[DONE]" ? "[DONE]" : name}`);
    const type = textOf(json["type"]);
    if (type !== name) this.#flaw("an event's name and its type differ");
    if (this.#state === "stopped") return this.#flaw("events follow message_stop");
    switch (type) {
      case "ping":
        return;
      case "message_start":
        return this.#start(asObject(json["message"]));
      case "content_block_start":
        return this.#openBlock(json);
      case "content_block_delta":
        return this.#takeDelta(json);
      case "content_block_stop":
        return this.#closeBlock(json);
      case "message_delta":
        return this.#end(json);
      case "message_stop":
        if (this.#state !== "delta") this.#flaw("message_stop comes before message_delta");
        this.#state = "stopped";
        return;
      default:
        this.#flaw(`an event of the unknown type ${type.slice(0, 40)}`);
    }
  }

  read(): ProviderAnswer {
    if (this.#state !== "stopped") this.#flaw("the stream has no message_stop");
    return {
      text: this.#text,
      thinking: this.#thinking,
      finish: this.#finish,
      models: this.#model === "" ? [] : [this.#model],
      usage: this.#usage,
      calls: this.#calls,
      flaws: this.#flaws,
    };
  }

  #start(message: Fields | undefined): void {
    if (this.#state !== "before") this.#flaw("message_start comes twice");
    this.#state = "open";
    this.#model = textOf(message?.["model"]);
    this.#usage = asObject(message?.["usage"]);
  }

  #openBlock(json: Fields): void {
    const start = asObject(json["content_block"]);
    if (this.#state !== "open") this.#flaw("a block begins outside of the message");
    if (this.#block !== undefined) this.#flaw("a block begins inside of another");
    if (json["index"] !== this.#blocks) this.#flaw("the index of a block is not the next one");
    this.#blocks += 1;
    this.#text += textOf(start?.["text"]);
    this.#block = { index: json["index"], start, argumentsText: "" };
  }

  #takeDelta(json: Fields): void {
    const delta = asObject(json["delta"]);
    if (this.#block === undefined || json["index"] !== this.#block.index) {
      return this.#flaw("a piece belongs to no open block");
    }
    this.#text += textOf(delta?.["text"]);
    this.#thinking += textOf(delta?.["thinking"]);
    this.#block.argumentsText += textOf(delta?.["partial_json"]);
  }

  #closeBlock(json: Fields): void {
    const block = this.#block;
    if (block === undefined || json["index"] !== block.index) {
      return this.#flaw("a block ends that is not open");
    }
    this.#block = undefined;
    const { start, argumentsText } = block;
    if (start?.["type"] !== "tool_use") return;
    this.#calls.push({
      id: textOf(start["id"]),
      name: textOf(start["name"]),
      argumentsText: argumentsText || JSON.stringify(start["input"] ?? {}),
    });
  }

  #end(json: Fields): void {
    if (this.#state !== "open") this.#flaw("message_delta comes at the wrong place");
    if (this.#block !== undefined) this.#flaw("message_delta comes inside of a block");
    this.#state = "delta";
    const reason = asObject(json["delta"])?.["stop_reason"];
    if (typeof reason === "string") this.#finish = reason;
    else this.#flaw("message_delta has no stop_reason");
    const usage = asObject(json["usage"]);
    if (usage !== undefined) this.#usage = { ...this.#usage, ...usage };
    else this.#flaw("message_delta has no usage");
  }

  #flaw(words: string): void {
    if (!this.#flaws.includes(words)) this.#flaws.push(words);
  }
}
