import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic112 from "@anthropic-ai/sdk";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import * as ai6 from "ai";
import * as ai5 from "ai-5";
import { createAnthropic as createAnthropic5 } from "ai-5-anthropic";
import { createOpenAI as createOpenAI5 } from "ai-5-openai";
import { createOpenAICompatible as createOpenAICompatible5 } from "ai-5-openai-compatible";
import Anthropic0137 from "anthropic-sdk-0137";
import Anthropic039 from "anthropic-sdk-039";
import OpenAI6 from "openai";
import OpenAI4 from "openai-4";
import { expect, test } from "vitest";
import { aiSdkDriver } from "../../support/clients/ai-sdk-driver.ts";
import { anthropicDriver } from "../../support/clients/anthropic-driver.ts";
import { OUTPUT_TOKENS_MAX } from "../../support/clients/driver.ts";
import { langchainDriver } from "../../support/clients/langchain-driver.ts";
import {
  CACHED_INPUT,
  clientMatrix,
  ESTIMATED_INPUT,
  type ClientRow,
  type Tokens,
} from "../../support/clients/matrix.ts";
import { openaiDriver } from "../../support/clients/openai-driver.ts";
import { withGateway } from "../../support/gateway.ts";
import { forbidGlobalFetch } from "../../support/noting-fetch.ts";

const elsewhere = forbidGlobalFetch();
const gateway = withGateway();

const OFFICIAL = {
  isOfficial: true,
  structured: "format",
  errors: ["AuthenticationError", "RateLimitError", "NotFoundError"],
} as const;
/** The framework retries each 429 twice, because it ignores x-should-retry. */
const AI_SDK = {
  isOfficial: false,
  errors: ["AI_APICallError", "AI_APICallError", "AI_APICallError"],
  requestsWithoutCredit: 3,
} as const;

/* Each version has its own types, but the parts that the drivers use are the same. */
type Anthropic = typeof Anthropic112;
type OpenAI = typeof OpenAI6;
type Framework = Parameters<typeof aiSdkDriver>[0];
type OpenModel = Parameters<typeof aiSdkDriver>[1];

const market = { name: "market", supportsStructuredOutputs: true } as const;

const ROWS: readonly ClientRow[] = [
  {
    name: "openai 4.104",
    drive: openaiDriver(OpenAI4 as unknown as OpenAI),
    wire: "a",
    ...OFFICIAL,
  },
  {
    name: "openai 6.49",
    drive: openaiDriver(OpenAI6),
    wire: "a",
    ...OFFICIAL,
  },
  {
    name: "@anthropic-ai/sdk 0.39",
    drive: anthropicDriver(Anthropic039 as unknown as Anthropic, { hasToolRunner: false }),
    wire: "b",
    ...OFFICIAL,
    structured: "none",
    // The client's accumulator reads the input tokens of the first event only.
    usageRead: ({ input, output }, { deed, crosses }) =>
      crosses && deed === "streamWithUsage"
        ? { input: ESTIMATED_INPUT, output }
        : { input, output },
  },
  {
    name: "@anthropic-ai/sdk 0.137",
    drive: anthropicDriver(Anthropic0137 as unknown as Anthropic, {
      hasToolRunner: true,
      formatOf: jsonSchemaOutputFormat,
    }),
    wire: "b",
    ...OFFICIAL,
  },
  {
    name: "@anthropic-ai/sdk 1.12",
    drive: anthropicDriver(Anthropic112, { hasToolRunner: true, formatOf: jsonSchemaOutputFormat }),
    wire: "b",
    ...OFFICIAL,
  },
  ...aiSdkRows("5", ai5 as unknown as Framework, {
    openai: (settings, id) => createOpenAI5(settings).chat(id),
    compatible: (settings, id) => createOpenAICompatible5({ ...market, ...settings })(id),
    anthropic: (settings, id) => createAnthropic5(settings)(id),
  }),
  ...aiSdkRows("6", ai6, {
    openai: (settings, id) => createOpenAI(settings).chat(id),
    compatible: (settings, id) => createOpenAICompatible({ ...market, ...settings })(id),
    anthropic: (settings, id) => createAnthropic(settings)(id),
  }),
  {
    name: "@langchain/openai 1.5",
    drive: langchainDriver(
      ({ url, key, model, fetch }) =>
        new ChatOpenAI({
          apiKey: key,
          model,
          maxTokens: OUTPUT_TOKENS_MAX,
          configuration: { baseURL: `${url}/v1`, fetch },
        }),
    ),
    wire: "a",
    ...OFFICIAL,
    isOfficial: false,
  },
  {
    name: "@langchain/anthropic 1.5",
    drive: langchainDriver(
      ({ url, key, model, fetch }) =>
        new ChatAnthropic({
          apiKey: key,
          model,
          maxTokens: OUTPUT_TOKENS_MAX,
          anthropicApiUrl: url,
          clientOptions: { fetch },
        }),
    ),
    wire: "b",
    ...OFFICIAL,
    isOfficial: false,
    structured: "tool",
    // It reads a stream's input tokens from the first event only, where a translated stream has our
    // estimate. It adds the output tokens of the first and the last event, which counts one token
    // twice.
    usageRead: ({ input, output }, { deed, crosses }) => {
      if (deed === "plain") return { input, output };
      return crosses ? { input: ESTIMATED_INPUT, output } : { input, output: output + 1 };
    },
  },
];

clientMatrix(gateway, ROWS);

test("the clients called only the gateway", () => {
  expect(elsewhere()).toEqual([]);
});

function aiSdkRows(
  version: string,
  framework: Framework,
  open: Readonly<Record<"openai" | "compatible" | "anthropic", OpenModel>>,
): readonly ClientRow[] {
  const wireA = { wire: "a", structured: "format", ...AI_SDK } as const;
  return [
    { name: `ai ${version} openai`, drive: aiSdkDriver(framework, open.openai), ...wireA },
    { name: `ai ${version} compatible`, drive: aiSdkDriver(framework, open.compatible), ...wireA },
    {
      name: `ai ${version} anthropic`,
      drive: aiSdkDriver(framework, open.anthropic),
      wire: "b",
      structured: "tool",
      ...AI_SDK,
      ...(version === "5" ? { usageRead: withoutCached } : {}),
    },
  ];
}

/** Version 5 of the AI SDK reports the input tokens of wire_b, which exclude cached ones. */
function withoutCached({ input, output }: Tokens): Tokens {
  return { input: input - CACHED_INPUT, output };
}
