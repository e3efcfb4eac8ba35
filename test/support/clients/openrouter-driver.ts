import { HTTPClient, OpenRouter } from "@openrouter/sdk";
import type { ChatRequest, ChatResult, ChatStreamChunk, ChatUsage } from "@openrouter/sdk/models";
import {
  driverOf,
  OUTPUT_TOKENS_MAX,
  PROMPT,
  SCHEMA,
  TOOL,
  TOOL_RESULT,
  type Answer,
  type Driver,
  type Equipped,
} from "./driver.ts";

/** A client with a schema of its own for every answer and every error. */
export function openrouterDriver(): Driver {
  return driverOf({
    plain: async (target) => answerOf(await send(target, bodyOf(target))),
    stream: (target) => streamed(target, bodyOf(target)),
    streamWithUsage: (target) =>
      streamed(target, { ...bodyOf(target), streamOptions: { includeUsage: true } }),
    tools: callTools,
    structured: async (target) => {
      const { text = "" } = answerOf(
        await send(target, {
          ...bodyOf(target, PROMPT.structured),
          responseFormat: {
            type: "json_schema",
            jsonSchema: { name: "city", strict: true, schema: SCHEMA },
          },
        }),
      );
      return { object: JSON.parse(text) };
    },
    cancel: async (target) => {
      for await (const chunk of await chunksOf(target, bodyOf(target, PROMPT.cancel))) {
        const text = chunk.choices[0]?.delta.content;
        if (text) return { text };
      }
      return {};
    },
  });
}

function open({ url, key, fetch }: Equipped): OpenRouter {
  const httpClient = new HTTPClient({ fetcher: (input, init) => fetch(input, init) });
  return new OpenRouter({ apiKey: key, serverURL: `${url}/v1`, httpClient });
}

function bodyOf({ model }: Equipped, prompt: string = PROMPT.plain): ChatRequest {
  return { model, maxTokens: OUTPUT_TOKENS_MAX, messages: [{ role: "user", content: prompt }] };
}

async function send(target: Equipped, chatRequest: ChatRequest): Promise<ChatResult> {
  const result = await open(target).chat.send({ chatRequest: { ...chatRequest, stream: false } });
  if (Symbol.asyncIterator in result) throw new TypeError("a stream came that was not asked for");
  return result;
}

async function chunksOf(
  target: Equipped,
  chatRequest: ChatRequest,
): Promise<AsyncIterable<ChatStreamChunk>> {
  const result = await open(target).chat.send({ chatRequest: { ...chatRequest, stream: true } });
  if (Symbol.asyncIterator in result) return result;
  throw new TypeError("a document came where a stream was asked for");
}

async function streamed(target: Equipped, body: ChatRequest): Promise<Answer> {
  let text = "";
  let usage: ChatUsage | undefined;
  for await (const chunk of await chunksOf(target, body)) {
    usage = chunk.usage ?? usage;
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return { text, ...tokensOf(usage) };
}

async function callTools(target: Equipped): Promise<Answer> {
  const body: ChatRequest = {
    ...bodyOf(target, PROMPT.tools),
    tools: [{ type: "function", function: { ...TOOL, parameters: SCHEMA } }],
  };
  const first = (await send(target, body)).choices[0]?.message;
  const calls = first?.toolCalls ?? [];
  const second = await send(target, {
    ...body,
    messages: [
      ...body.messages,
      { role: "assistant", content: null, toolCalls: calls },
      ...calls.map(({ id }) => ({ role: "tool" as const, toolCallId: id, content: TOOL_RESULT })),
    ],
  });
  return {
    ...answerOf(second),
    toolInputs: calls.map((call): unknown => JSON.parse(call.function.arguments)),
  };
}

function answerOf({ choices, usage }: ChatResult): Answer {
  const content: unknown = choices[0]?.message.content;
  return { text: typeof content === "string" ? content : "", ...tokensOf(usage) };
}

function tokensOf(usage: ChatUsage | undefined): Pick<Answer, "tokens"> {
  if (usage === undefined) return {};
  return { tokens: { input: usage.promptTokens, output: usage.completionTokens } };
}
