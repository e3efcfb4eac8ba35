import type OpenAI from "openai";
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

type Usage = OpenAI.CompletionUsage | null | undefined;

/** Works with every version of the official client; only the place of `runTools` differs. */
export function openaiDriver(Client: typeof OpenAI): Driver {
  const open = ({ url, key, fetch }: Equipped): OpenAI =>
    new Client({ apiKey: key, baseURL: `${url}/v1`, fetch });
  return driverOf({
    plain: async (target) => answerOf(await open(target).chat.completions.create(bodyOf(target))),
    stream: (target) => streamed(open(target), { ...bodyOf(target), stream: true }),
    streamWithUsage: (target) => {
      const options = { stream: true, stream_options: { include_usage: true } } as const;
      return streamed(open(target), { ...bodyOf(target), ...options });
    },
    tools: (target) => runTools(open(target), target),
    structured: (target) => structured(open(target), target),
    cancel: (target) => cancelled(open(target), target),
  });
}

function bodyOf(
  { model }: Equipped,
  prompt: string = PROMPT.plain,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: prompt }];
  return { model, max_tokens: OUTPUT_TOKENS_MAX, messages };
}

function answerOf(completion: OpenAI.ChatCompletion): Answer {
  return { text: completion.choices[0]?.message.content ?? "", ...tokensOf(completion.usage) };
}

/** If no usage is asked for, takes the first choice of each chunk unchecked, as tutorials do. */
async function streamed(
  client: OpenAI,
  body: OpenAI.ChatCompletionCreateParamsStreaming,
): Promise<Answer> {
  let text = "";
  let usage: Usage;
  for await (const chunk of await client.chat.completions.create(body)) {
    if (chunk.usage) usage = chunk.usage;
    if (body.stream_options?.include_usage === true && chunk.choices.length === 0) continue;
    text += firstOf(chunk.choices).delta.content ?? "";
  }
  return { text, ...tokensOf(usage) };
}

function firstOf<T>(items: readonly T[]): T {
  const [first] = items;
  if (first === undefined) throw new RangeError("a chunk has no choice");
  return first;
}

async function runTools(client: OpenAI, target: Equipped): Promise<Answer> {
  const toolInputs: unknown[] = [];
  const weather = {
    ...TOOL,
    parameters: SCHEMA,
    parse: (text: string): unknown => JSON.parse(text),
    function: (input: unknown): string => {
      toolInputs.push(input);
      return TOOL_RESULT;
    },
  };
  const runner = completionsOf(client).runTools({
    ...bodyOf(target, PROMPT.tools),
    tools: [{ type: "function", function: weather }],
  });
  return { text: (await runner.finalContent()) ?? "", toolInputs };
}

/** In version 4 of the client, `runTools` is below `beta`. */
function completionsOf(client: OpenAI): OpenAI["chat"]["completions"] {
  if ("runTools" in client.chat.completions) return client.chat.completions;
  return (client.beta as unknown as Pick<OpenAI, "chat">).chat.completions;
}

async function structured(client: OpenAI, target: Equipped): Promise<Answer> {
  const completion = await client.chat.completions.create({
    ...bodyOf(target, PROMPT.structured),
    response_format: {
      type: "json_schema",
      json_schema: { name: "city", strict: true, schema: SCHEMA },
    },
  });
  return { object: JSON.parse(completion.choices[0]?.message.content ?? "null") };
}

async function cancelled(client: OpenAI, target: Equipped): Promise<Answer> {
  const body = { ...bodyOf(target, PROMPT.cancel), stream: true } as const;
  const stream = await client.chat.completions.create(body);
  return await firstText(stream, ({ choices }) => choices[0]?.delta.content);
}

function tokensOf(usage: Usage): Pick<Answer, "tokens"> {
  if (!usage) return {};
  return { tokens: { input: usage.prompt_tokens, output: usage.completion_tokens } };
}
