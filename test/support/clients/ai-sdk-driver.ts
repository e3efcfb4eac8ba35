import type * as ai from "ai";
import type { LanguageModel, ToolSet } from "ai";
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

type Framework = Pick<
  typeof ai,
  "generateText" | "generateObject" | "streamText" | "jsonSchema" | "stepCountIs" | "tool"
>;

export interface AiSettings {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly fetch: typeof fetch;
}

export function aiSdkDriver(
  framework: Framework,
  modelOf: (settings: AiSettings, modelId: string) => LanguageModel,
): Driver {
  const asked = ({ url, key, model, fetch }: Equipped, prompt: string = PROMPT.plain) => ({
    model: modelOf({ apiKey: key, baseURL: `${url}/v1`, fetch }, model),
    prompt,
    maxOutputTokens: OUTPUT_TOKENS_MAX,
  });
  return driverOf({
    plain: async (target) => {
      const { text, usage } = await framework.generateText(asked(target));
      return { text, ...tokensOf(usage) };
    },
    stream: async (target) => {
      const stream = framework.streamText({ ...asked(target), onError: () => undefined });
      let text = "";
      for await (const part of stream.textStream) text += part;
      return { text, ...tokensOf(await stream.usage) };
    },
    tools: async (target) => {
      const toolInputs: unknown[] = [];
      const { text } = await framework.generateText({
        ...asked(target, PROMPT.tools),
        tools: toolsOf(framework, toolInputs),
        stopWhen: framework.stepCountIs(3),
      });
      return { text, toolInputs };
    },
    structured: async (target) => {
      const schema = framework.jsonSchema(SCHEMA);
      const order = { ...asked(target, PROMPT.structured), schema };
      return { object: (await framework.generateObject(order)).object };
    },
    cancel: async (target) => {
      const abort = new AbortController();
      const stream = framework.streamText({
        ...asked(target, PROMPT.cancel),
        abortSignal: abort.signal,
        onError: () => undefined,
      });
      let text = "";
      for await (const part of stream.fullStream) {
        if (part.type !== "text-delta") continue;
        // Parts that were sent before the abort still arrive, so only the first text counts.
        text ||= part.text;
        abort.abort();
      }
      return { text };
    },
  });
}

function toolsOf(framework: Framework, toolInputs: unknown[]): ToolSet {
  const get_weather = framework.tool({
    description: TOOL.description,
    inputSchema: framework.jsonSchema(SCHEMA),
    execute: (input: unknown) => {
      toolInputs.push(input);
      return TOOL_RESULT;
    },
  });
  return { get_weather };
}

function tokensOf(usage: {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}): Answer {
  return { tokens: { input: usage.inputTokens ?? 0, output: usage.outputTokens ?? 0 } };
}
