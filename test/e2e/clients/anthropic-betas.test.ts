import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "vitest";

import { withAccount, withGateway } from "../../support/gateway.ts";

const gateway = withGateway();
const account = withAccount(gateway, "25.00");
let client: Anthropic;

beforeAll(() => {
  client = new Anthropic({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
});

type Params = Anthropic.Beta.MessageCreateParamsNonStreaming;

const asked = { max_tokens: 64, messages: [{ role: "user" as const, content: "Hello" }] };
const tool: Anthropic.Beta.BetaTool = {
  name: "get_weather",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

/** Fields of betas that the gateway drops, because the answer is the same without them. */
const DROPPED: readonly (readonly [string, string, Partial<Params>])[] = [
  [
    "context-management-2025-06-27",
    "context_management",
    { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
  ],
  [
    "advanced-tool-use-2025-11-20",
    "tools.defer_loading",
    { tools: [tool, { ...tool, name: "get_time", defer_loading: true }] },
  ],
  [
    "advanced-tool-use-2025-11-20",
    "tools.input_examples",
    { tools: [{ ...tool, input_examples: [{ city: "Oslo" }] }] },
  ],
  [
    "task-budgets-2026-03-13",
    "output_config.task_budget",
    { output_config: { task_budget: { type: "tokens", total: 20_000 } } },
  ],
];

describe.each(["test/a", "test/b"])("in front of %s", (model) => {
  test.each(DROPPED)("%s is dropped with %s, and both are named", async (beta, field, more) => {
    const kept = "interleaved-thinking-2025-05-14";
    const { data, response } = await client.beta.messages
      .create({ ...asked, model, betas: [beta, kept], ...more })
      .withResponse();
    expect(data.content).toMatchObject([{ text: "You said: Hello" }]);
    const named = response.headers.get("x-tm-dropped-params")?.split(/,\s*/);
    expect(named).toEqual(expect.arrayContaining([field, beta]));
    const sent = gateway.simulator.calls().at(-1);
    expect(JSON.stringify(sent?.body)).not.toContain(`"${field.split(".").at(-1)}"`);
    expect(JSON.stringify(sent?.body).includes("get_weather")).toBe("tools" in more);
  });

  const file = { type: "file", file_id: "file_011CNha8iCJcU1wXNR6q4V8w" } as const;
  const files = "files-api-2025-04-14";
  const user = (block: Anthropic.Beta.BetaContentBlockParam): Partial<Params> => ({
    messages: [{ role: "user", content: [{ type: "text", text: "Read it" }, block] }],
  });

  test.each<readonly [string, string, Partial<Params>]>([
    [files, "messages.0.content.1.source.type", user({ type: "document", source: file })],
    [files, "messages.0.content.1.source.type", user({ type: "image", source: file })],
    [files, "messages.0.content.1.type", user({ type: "container_upload", file_id: "file_1" })],
    [
      "mcp-client-2025-11-20",
      "mcp_servers",
      { mcp_servers: [{ type: "url", url: "https://example.com/mcp", name: "x" }] },
    ],
    ["skills-2025-10-02", "container", { container: { skills: [] } }],
  ])("%s: a 400 names %s, because the answer depends on it", async (beta, field, more) => {
    const before = gateway.simulator.calls().length;
    const refused = client.beta.messages.create({ ...asked, model, betas: [beta], ...more });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(field),
    });
    expect(gateway.simulator.calls()).toHaveLength(before);
  });
});

test("a field without its beta is refused by the provider, with the provider's message", async () => {
  const context_management = { edits: [] };
  const params = { ...asked, model: "test/b", context_management };
  await expect(client.beta.messages.create(params)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("context_management: Extra inputs are not permitted"),
  });
});
