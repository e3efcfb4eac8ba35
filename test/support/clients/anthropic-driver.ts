import type Anthropic from "@anthropic-ai/sdk";
import type { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
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

/** Methods that only newer versions of the client have. */
interface Helpers {
  readonly hasToolRunner: boolean;
  readonly formatOf?: typeof jsonSchemaOutputFormat;
}

type Message = Pick<Anthropic.Message, "content" | "usage">;

export function anthropicDriver(Client: typeof Anthropic, helpers: Helpers): Driver {
  const open = ({ url, key, fetch }: Equipped): Anthropic =>
    new Client({ apiKey: key, baseURL: url, fetch });
  const { formatOf } = helpers;
  return driverOf({
    plain: async (target) => answerOf(await open(target).messages.create(bodyOf(target))),
    stream: (target) => streamed(open(target), target),
    streamWithUsage: async (target) =>
      answerOf(await open(target).messages.stream(bodyOf(target)).finalMessage()),
    tools: (target) =>
      helpers.hasToolRunner ? runTools(open(target), target) : callTools(open(target), target),
    cancel: (target) => cancelled(open(target), target),
    ...(formatOf === undefined
      ? {}
      : { structured: (target) => structured(open(target), target, formatOf) }),
  });
}

function bodyOf(
  { model }: Equipped,
  prompt: string = PROMPT.plain,
): Anthropic.MessageCreateParamsNonStreaming {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: prompt }];
  return { model, max_tokens: OUTPUT_TOKENS_MAX, messages };
}

function answerOf({ content, usage }: Message): Answer {
  const text = content.flatMap((block) => (block.type === "text" ? block.text : [])).join("");
  return { text, ...tokensOf(usage) };
}

/** Reads the events one by one; the last `message_delta` has the whole usage. */
async function streamed(client: Anthropic, target: Equipped): Promise<Answer> {
  let text = "";
  let tokens: Pick<Answer, "tokens"> = {};
  const stream = await client.messages.create({ ...bodyOf(target), stream: true });
  for await (const event of stream) {
    if (event.type === "message_delta") tokens = tokensOf(event.usage);
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
      text += event.delta.text;
    }
  }
  return { text, ...tokens };
}

async function runTools(client: Anthropic, target: Equipped): Promise<Answer> {
  const toolInputs: unknown[] = [];
  const body = bodyOf(target, PROMPT.tools);
  const message = await client.beta.messages.toolRunner({
    ...body,
    messages: [{ role: "user", content: PROMPT.tools }],
    tools: [
      {
        ...TOOL,
        input_schema: SCHEMA,
        parse: (input: unknown) => input,
        run: (input: unknown): string => {
          toolInputs.push(input);
          return TOOL_RESULT;
        },
      },
    ],
  });
  const text = message.content.flatMap((block) => (block.type === "text" ? block.text : []));
  return { text: text.join(""), toolInputs };
}

async function callTools(client: Anthropic, target: Equipped): Promise<Answer> {
  const tools = [{ ...TOOL, input_schema: SCHEMA }];
  const body = { ...bodyOf(target, PROMPT.tools), tools };
  const first = await client.messages.create(body);
  const uses = first.content.flatMap((block) => (block.type === "tool_use" ? block : []));
  const results = uses.map(({ id }): Anthropic.ToolResultBlockParam => ({
    type: "tool_result",
    tool_use_id: id,
    content: TOOL_RESULT,
  }));
  const second = await client.messages.create({
    ...body,
    messages: [
      ...body.messages,
      { role: "assistant", content: first.content },
      { role: "user", content: results },
    ],
  });
  const { text = "" } = answerOf(second);
  return { text, toolInputs: uses.map(({ input }) => input) };
}

async function structured(
  client: Anthropic,
  target: Equipped,
  formatOf: typeof jsonSchemaOutputFormat,
): Promise<Answer> {
  const message = await client.messages.parse({
    ...bodyOf(target, PROMPT.structured),
    output_config: { format: formatOf(SCHEMA) },
  });
  return { object: message.parsed_output };
}

async function cancelled(client: Anthropic, target: Equipped): Promise<Answer> {
  const stream = client.messages.stream(bodyOf(target, PROMPT.cancel));
  const text = await new Promise<string>((done) => void stream.once("text", done));
  stream.abort();
  await stream.done().catch(() => undefined);
  return { text };
}

/** On this wire, the input tokens leave out the cached ones. */
function tokensOf(usage: Anthropic.Usage | Anthropic.MessageDeltaUsage): Pick<Answer, "tokens"> {
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  return { tokens: { input: (usage.input_tokens ?? 0) + cached, output: usage.output_tokens } };
}
