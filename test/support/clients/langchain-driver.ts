import type { ChatAnthropic } from "@langchain/anthropic";
import {
  HumanMessage,
  ToolMessage,
  type AIMessage,
  type AIMessageChunk,
} from "@langchain/core/messages";
import type { ChatOpenAI } from "@langchain/openai";
import {
  driverOf,
  firstText,
  PROMPT,
  SCHEMA,
  TOOL,
  TOOL_RESULT,
  type Answer,
  type Driver,
  type Equipped,
} from "./driver.ts";

type ChatModel = ChatOpenAI | ChatAnthropic;

export function langchainDriver(open: (target: Equipped) => ChatModel): Driver {
  return driverOf({
    plain: async (target) => answerOf(await open(target).invoke(PROMPT.plain)),
    stream: async (target) => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await open(target).stream(PROMPT.plain)) {
        whole = whole?.concat(chunk) ?? chunk;
      }
      return whole === undefined ? {} : answerOf(whole);
    },
    tools: (target) => callTools(open(target)),
    structured: async (target) => {
      const model = open(target).withStructuredOutput({ title: "city", ...SCHEMA });
      return { object: await model.invoke(PROMPT.structured) };
    },
    cancel: async (target) =>
      await firstText(await open(target).stream(PROMPT.cancel), ({ text }) => text),
  });
}

interface ReadMessage {
  readonly text: string;
  readonly usage_metadata?:
    { readonly input_tokens: number; readonly output_tokens: number } | undefined;
}

function answerOf({ text, usage_metadata: usage }: ReadMessage): Answer {
  if (usage === undefined) return { text };
  return { text, tokens: { input: usage.input_tokens, output: usage.output_tokens } };
}

async function callTools(opened: ChatModel): Promise<Answer> {
  const model = opened.bindTools([{ type: "function", function: { ...TOOL, parameters: SCHEMA } }]);
  const question = new HumanMessage(PROMPT.tools);
  const first: AIMessage = await model.invoke([question]);
  const calls = first.tool_calls ?? [];
  const results = calls.map(
    ({ id = "" }) => new ToolMessage({ content: TOOL_RESULT, tool_call_id: id }),
  );
  const second: AIMessage = await model.invoke([question, first, ...results]);
  return { text: second.text, toolInputs: calls.map(({ args }) => args) };
}
