import { join, resolve } from "node:path";
import { withClientProcess } from "../../support/clients/child-driver.ts";
import { npmFolder } from "../../support/clients/client-folder.ts";
import { OWN_FOLDER_CLIENTS } from "../../support/clients/deep-clients.ts";
import { clientMatrix, type ClientRow } from "../../support/clients/matrix.ts";
import { withGateway } from "../../support/gateway.ts";

/** These clients may need a newer Node than that of the tests, so one is installed with them. */
const NODE = `node-${process.platform}-${process.arch}`;
const DEPENDENCIES = { ...OWN_FOLDER_CLIENTS, [NODE]: "22.23.3", zod: "4.6.7" };
const MODULE = `export { OpenAI } from "openai";
export * as agents from "@openai/agents";
export * as ai from "ai";
export { createOpenAI } from "@ai-sdk/openai";
export { createOpenAICompatible } from "@ai-sdk/openai-compatible";
export { createAnthropic } from "@ai-sdk/anthropic";
export * as openrouter from "@openrouter/sdk";
`;
const CHILD = resolve(import.meta.dirname, "../../support/clients/driver-child.ts");

const gateway = withGateway();
const clients = withClientProcess(async () => {
  const folder = await npmFolder({ name: "matrix", dependencies: DEPENDENCIES, module: MODULE });
  const file = join(folder, "node_modules", NODE, "bin", "node");
  return { file, args: ["--no-warnings", CHILD, folder] };
});

const OFFICIAL = ["AuthenticationError", "RateLimitError", "NotFoundError"] as const;
const AI_SDK = {
  isOfficial: false,
  errors: ["AI_APICallError", "AI_APICallError", "AI_APICallError"],
  requestsWithoutCredit: 3,
} as const;

const ROWS: readonly ClientRow[] = [
  {
    name: "openai 7.57",
    drive: (...order) => clients.driver("openai")(...order),
    wire: "a",
    isOfficial: true,
    structured: "format",
    errors: OFFICIAL,
  },
  {
    name: "@openai/agents 0.20",
    drive: (...order) => clients.driver("agents")(...order),
    wire: "a",
    isOfficial: false,
    structured: "format",
    errors: OFFICIAL,
  },
  {
    name: "ai 7 openai",
    drive: (...order) => clients.driver("ai openai")(...order),
    wire: "a",
    structured: "format",
    ...AI_SDK,
  },
  {
    name: "ai 7 compatible",
    drive: (...order) => clients.driver("ai compatible")(...order),
    wire: "a",
    structured: "format",
    ...AI_SDK,
  },
  {
    name: "ai 7 anthropic",
    drive: (...order) => clients.driver("ai anthropic")(...order),
    wire: "b",
    structured: "tool",
    ...AI_SDK,
  },
  {
    name: "@openrouter/sdk 1.3.19",
    drive: (...order) => clients.driver("openrouter")(...order),
    wire: "a",
    // With `include_usage`, the SDK's schema refuses the null usage of official chunks. Without it,
    // the gateway still sends the usage.
    isOfficial: false,
    structured: "format",
    // The SDK requires a number as an error's code, where other clients expect the error class.
    errors: ["OpenRouterError", "OpenRouterError", "OpenRouterError"],
  },
];

clientMatrix(gateway, ROWS);
