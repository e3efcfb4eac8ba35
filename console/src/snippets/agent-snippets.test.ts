import { expect, test } from "vitest";

import { agentSnippets } from "./agent-snippets.ts";

const of = { gatewayUrl: "http://127.0.0.1:8080/", modelId: "sim/both", secret: "tm_vk_one" };

test("each coding agent's snippet sets its base URL and the key, and Claude Code's names the model", () => {
  const [claude, open] = agentSnippets(of);
  expect(claude?.code).toContain("export ANTHROPIC_BASE_URL=http://127.0.0.1:8080\n");
  expect(claude?.code).toContain("export ANTHROPIC_AUTH_TOKEN=tm_vk_one\n");
  expect(claude?.code).toContain("claude --model sim/both");
  expect(open?.code).toContain('"baseURL": "http://127.0.0.1:8080/v1"');
  expect(open?.code).toContain("export TOKEN_MARKET_KEY=tm_vk_one\n");
});

test("opencode's file does not contain the key, and Claude Code's snippet without a key uses a variable", () => {
  const [claude, open] = agentSnippets(of);
  expect(open?.code.split("<<'END'")[1]).not.toContain("tm_vk_one");
  const [bare] = agentSnippets({ ...of, secret: undefined });
  expect(bare?.code).toContain("ANTHROPIC_AUTH_TOKEN=$TOKEN_MARKET_KEY");
  expect(claude?.label).toBe("Claude Code");
});
