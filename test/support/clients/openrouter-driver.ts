import {
  driverOf,
  firstText,
  OUTPUT_TOKENS_MAX,
  PROMPT,
  SCHEMA,
  TOOL,
  TOOL_RESULT,
  type Answer,
  type Driver,
  type Equipped,
} from "./driver.ts";

/** The parts of `@openrouter/sdk` that are used. It is not a dependency of this repository. */
export interface OpenRouterModule {
  readonly HTTPClient: new (options: { readonly fetcher: typeof fetch }) => object;
  readonly OpenRouter: new (options: object) => {
    readonly chat: {
      send(request: object): Promise<ChatResult | AsyncIterable<ChatChunk>>;
    };
  };
}

interface ChatRequest {
  readonly model: string;
  readonly maxTokens: number;
  readonly messages: readonly object[];
  readonly responseFormat?: object;
  readonly tools?: readonly object[];
}

interface ChatResult {
  readonly choices: readonly { readonly message: ChatMessage }[];
  readonly usage?: ChatUsage;
}

interface ChatMessage {
  readonly content?: unknown;
  readonly toolCalls?: readonly {
    readonly id: string;
    readonly function: { readonly arguments: string };
  }[];
}

interface ChatChunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[];
  readonly usage?: ChatUsage;
}

interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Drives a client that checks every answer and every error against its own schema. */
export function openrouterDriver(module: OpenRouterModule): Driver {
  const open = (target: Equipped): Client => new Client(module, target);
  return driverOf({
    plain: async (target) => answerOf(await open(target).send(bodyOf(target))),
    stream: (target) => streamed(open(target), bodyOf(target)),
    tools: (target) => callTools(open(target), bodyOf(target, PROMPT.tools)),
    structured: async (target) => {
      const jsonSchema = { name: "city", strict: true, schema: SCHEMA };
      const responseFormat = { type: "json_schema", jsonSchema };
      const body = { ...bodyOf(target, PROMPT.structured), responseFormat };
      const { text = "" } = answerOf(await open(target).send(body));
      return { object: JSON.parse(text) };
    },
    cancel: async (target) => {
      const stream = await open(target).chunks(bodyOf(target, PROMPT.cancel));
      return await firstText(stream, ({ choices }) => choices[0]?.delta.content);
    },
  });
}

class Client {
  readonly #client: InstanceType<OpenRouterModule["OpenRouter"]>;

  constructor({ HTTPClient, OpenRouter }: OpenRouterModule, { url, key, fetch }: Equipped) {
    const httpClient = new HTTPClient({ fetcher: fetch });
    this.#client = new OpenRouter({ apiKey: key, serverURL: `${url}/v1`, httpClient });
  }

  async send(body: ChatRequest): Promise<ChatResult> {
    const result = await this.#client.chat.send({ chatRequest: { ...body, stream: false } });
    if (Symbol.asyncIterator in result) throw new TypeError("a stream was not asked for");
    return result;
  }

  async chunks(body: ChatRequest): Promise<AsyncIterable<ChatChunk>> {
    const result = await this.#client.chat.send({ chatRequest: { ...body, stream: true } });
    if (Symbol.asyncIterator in result) return result;
    throw new TypeError("a document came where a stream was asked for");
  }
}

function bodyOf({ model }: Equipped, prompt: string = PROMPT.plain): ChatRequest {
  return { model, maxTokens: OUTPUT_TOKENS_MAX, messages: [{ role: "user", content: prompt }] };
}

async function streamed(client: Client, body: ChatRequest): Promise<Answer> {
  let text = "";
  let usage: ChatUsage | undefined;
  for await (const chunk of await client.chunks(body)) {
    usage = chunk.usage ?? usage;
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return { text, ...tokensOf(usage) };
}

async function callTools(client: Client, question: ChatRequest): Promise<Answer> {
  const body: ChatRequest = {
    ...question,
    tools: [{ type: "function", function: { ...TOOL, parameters: SCHEMA } }],
  };
  const toolCalls = (await client.send(body)).choices[0]?.message.toolCalls ?? [];
  const second = await client.send({
    ...body,
    messages: [
      ...body.messages,
      { role: "assistant", content: null, toolCalls },
      ...toolCalls.map(({ id }) => ({ role: "tool", toolCallId: id, content: TOOL_RESULT })),
    ],
  });
  return {
    ...answerOf(second),
    toolInputs: toolCalls.map((call): unknown => JSON.parse(call.function.arguments)),
  };
}

function answerOf({ choices, usage }: ChatResult): Answer {
  const content = choices[0]?.message.content;
  return { text: typeof content === "string" ? content : "", ...tokensOf(usage) };
}

function tokensOf(usage: ChatUsage | undefined): Pick<Answer, "tokens"> {
  if (usage === undefined) return {};
  return { tokens: { input: usage.promptTokens, output: usage.completionTokens } };
}
