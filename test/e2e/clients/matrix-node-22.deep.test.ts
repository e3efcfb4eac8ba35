import { join, resolve } from "node:path";
import { withClientProcess } from "../../support/clients/child-driver.ts";
import { npmFolder } from "../../support/clients/client-folder.ts";
import { clientMatrix, type ClientRow } from "../../support/clients/matrix.ts";
import { withGateway } from "../../support/gateway.ts";

/* These packages ask for Node 22, which is newer than what this repository supports. */
const NODE = `node-${process.platform}-${process.arch}`;
const DEPENDENCIES = {
  [NODE]: "22.23.3",
  openai: "7.57.0",
  "@openai/agents": "0.20.0",
  zod: "4.6.7",
  ai: "7.0.173",
  "@ai-sdk/openai": "4.0.118",
  "@ai-sdk/openai-compatible": "3.0.92",
  "@ai-sdk/anthropic": "4.0.105",
};
const MODULE = `export { OpenAI } from "openai";
export * as agents from "@openai/agents";
export * as ai from "ai";
export { createOpenAI } from "@ai-sdk/openai";
export { createOpenAICompatible } from "@ai-sdk/openai-compatible";
export { createAnthropic } from "@ai-sdk/anthropic";
`;
const CHILD = resolve(import.meta.dirname, "../../support/clients/driver-child.ts");

const gateway = withGateway();
const clients = withClientProcess(async () => {
  const folder = await npmFolder({ name: "node-22", dependencies: DEPENDENCIES, module: MODULE });
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
];

clientMatrix(gateway, ROWS);
