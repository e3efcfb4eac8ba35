import type OpenAI from "openai";
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

/** The parts of `@openai/agents` that are used. It is not a dependency of this repository. */
export interface AgentsModule {
  readonly Agent: new (options: object) => object;
  readonly OpenAIProvider: new (options: object) => object;
  readonly Runner: new (options: object) => {
    run(agent: object, input: string, options: object): Promise<AgentRun>;
  };
  readonly tool: (options: object) => object;
}

interface AgentRun {
  readonly finalOutput: unknown;
  readonly state: {
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  };
  readonly completed: Promise<void>;
  toTextStream(): AsyncIterable<string>;
}

export function agentsDriver(agents: AgentsModule, Client: typeof OpenAI): Driver {
  const start = async (target: Equipped, prompt: string, more: object = {}): Promise<AgentRun> => {
    const { stream = false, signal, ...options } = more as { stream?: boolean; signal?: unknown };
    const openAIClient = new Client({
      apiKey: target.key,
      baseURL: `${target.url}/v1`,
      fetch: target.fetch,
    });
    const runner = new agents.Runner({
      modelProvider: new agents.OpenAIProvider({ openAIClient, useResponses: false }),
      tracingDisabled: true,
    });
    const agent = new agents.Agent({
      name: "tester",
      model: target.model,
      modelSettings: { maxTokens: OUTPUT_TOKENS_MAX },
      ...options,
    });
    return await runner.run(agent, prompt, { stream, signal });
  };
  return driverOf({
    plain: async (target) => {
      const run = await start(target, PROMPT.plain);
      return { text: String(run.finalOutput), ...tokensOf(run) };
    },
    stream: async (target) => {
      const run = await start(target, PROMPT.plain, { stream: true });
      let text = "";
      for await (const part of run.toTextStream()) text += part;
      await run.completed;
      return { text, ...tokensOf(run) };
    },
    tools: async (target) => {
      const toolInputs: unknown[] = [];
      const weather = agents.tool({
        ...TOOL,
        parameters: SCHEMA,
        execute: (input: unknown) => {
          toolInputs.push(input);
          return TOOL_RESULT;
        },
      });
      const run = await start(target, PROMPT.tools, { tools: [weather] });
      return { text: String(run.finalOutput), toolInputs };
    },
    structured: async (target) => {
      const outputType = { type: "json_schema", name: "city", strict: true, schema: SCHEMA };
      const run = await start(target, PROMPT.structured, { outputType });
      return { object: run.finalOutput };
    },
    cancel: async (target) => {
      const abort = new AbortController();
      const run = await start(target, PROMPT.cancel, { stream: true, signal: abort.signal });
      let text = "";
      for await (const part of run.toTextStream()) {
        text ||= part;
        abort.abort();
      }
      await run.completed.catch(() => undefined);
      return { text };
    },
  });
}

function tokensOf({ state: { usage } }: AgentRun): Answer {
  return { tokens: { input: usage.inputTokens, output: usage.outputTokens } };
}
