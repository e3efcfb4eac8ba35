import type Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "vitest";
import { ANTHROPIC_CLIENTS, say } from "../../support/anthropic-clients.ts";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { listedCost, settledRecord } from "../../support/settled.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;
type Asked = Partial<Params> & Pick<Params, "messages">;
interface Answered {
  readonly message: Anthropic.Message;
  readonly cost: unknown;
}

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

function tool(name: string): Anthropic.Tool {
  const properties = { city: { type: "string" } };
  return { name, description: `Runs ${name}`, input_schema: { type: "object", properties } };
}
const tools = [tool("get_weather"), tool("get_time")];

describe.each(ANTHROPIC_CLIENTS)("@anthropic-ai/sdk %s", (_version, Client) => {
  let client: Anthropic;
  beforeAll(() => {
    client = new Client({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
  });

  describe.each(["test/a", "test/b"])("in front of %s", (model) => {
    describe.each([
      ["without streaming", false],
      ["streaming", true],
    ])("%s", (_how, stream) => {
      const askForCost = async (params: Asked): Promise<Answered> => {
        const asked: Params = { model, max_tokens: 256, ...params };
        if (!stream) {
          const message = await client.messages.create(asked);
          return { message, cost: at(message, "usage.cost") };
        }
        // The accumulator keeps the fields it knows; the cost is on the event itself.
        const costs: unknown[] = [];
        const reading = client.messages.stream(asked).on("streamEvent", (event) => {
          if (event.type === "message_delta") costs.push(at(event, "usage.cost"));
        });
        const message = await reading.finalMessage();
        expect(costs).toHaveLength(1);
        return { message, cost: costs[0] };
      };
      const ask = async (params: Asked): Promise<Anthropic.Message> =>
        (await askForCost(params)).message;

      test("text comes back under the marketplace's model id, with usage and cost", async () => {
        const { message, cost } = await askForCost({ messages: [say('Grüße 🙂 "world"')] });
        expect(message).toMatchObject({
          id: expect.stringMatching(/^msg_/),
          type: "message",
          role: "assistant",
          model,
          content: [{ type: "text", text: 'You said: Grüße 🙂 "world"' }],
          stop_reason: "end_turn",
          stop_sequence: null,
        });
        const { input_tokens: prompt, output_tokens: output } = message.usage;
        expect(prompt).toBeGreaterThan(0);
        expect(output).toBeGreaterThan(0);
        expect(cost).toBe(listedCost(prompt, output));
      });

      test("the system prompt reaches the provider as a system prompt", async () => {
        await ask({ system: "Be brief.", messages: [say("Hello")] });
        const sent = gateway.simulator.calls().at(-1)?.body;
        const expected =
          model === "test/b"
            ? { system: "Be brief.", messages: [say("Hello")] }
            : { messages: [{ role: "system", content: "Be brief." }, say("Hello")] };
        expect(sent).toMatchObject(expected);
      });

      test("two parallel tool calls behind a text keep their order", async () => {
        const messages = [say("Call both get_weather and get_time [preface]")];
        const message = await ask({ messages, tools });
        expect(message.stop_reason).toBe("tool_use");
        expect(message.content).toMatchObject([
          { type: "text", text: "Let me look that up." },
          { type: "tool_use", name: "get_weather", input: { city: "sample city" } },
          { type: "tool_use", name: "get_time", input: { city: "sample city" } },
        ]);
        expect(new Set(toolUses(message).map((block) => block.id)).size).toBe(2);
      });

      test("disable_parallel_tool_use gives one call", async () => {
        const message = await ask({
          messages: [say("Call both get_weather and get_time")],
          tools,
          tool_choice: { type: "auto", disable_parallel_tool_use: true },
        });
        expect(toolUses(message)).toHaveLength(1);
      });

      test("tool results go back to the model, which answers from them", async () => {
        const messages = [say("Call both get_weather and get_time")];
        const first = await ask({ messages, tools });
        const results = toolUses(first).map((block, index): Anthropic.ToolResultBlockParam => ({
          type: "tool_result",
          tool_use_id: block.id,
          content: index === 0 ? "21 degrees" : "noon",
        }));
        const second = await ask({
          messages: [
            ...messages,
            { role: "assistant", content: first.content },
            { role: "user", content: results },
          ],
          tools,
        });
        expect(second).toMatchObject({
          stop_reason: "end_turn",
          content: [{ type: "text", text: "The tool answered: 21 degrees; noon" }],
        });
      });

      test("a stop sequence ends the answer before its text", async () => {
        const message = await ask({
          messages: [say("alpha STOP beta")],
          stop_sequences: ["STOP"],
        });
        expect(message.content).toMatchObject([{ type: "text", text: "You said: alpha " }]);
        // Providers of the other wire do not report which sequence it was.
        expect(message).toMatchObject(
          model === "test/b"
            ? { stop_reason: "stop_sequence", stop_sequence: "STOP" }
            : { stop_reason: "end_turn", stop_sequence: null },
        );
      });

      test("the output bound ends the answer with max_tokens", async () => {
        const message = await ask({ messages: [say("[words:500]")], max_tokens: 7 });
        expect(message).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 7 } });
      });

      test("cached tokens are reported separately and priced into the cost", async () => {
        const messages = [say(`${"x".repeat(400)} [cached:40]`)];
        const { message, cost } = await askForCost({ messages });
        expect(message.usage.cache_read_input_tokens).toBe(40);
        const { input_tokens: prompt, output_tokens: output } = message.usage;
        expect(cost).toBe(listedCost(prompt + 40, output));
      });
    });

    test("the request id is on the answer and finds the settled record", async () => {
      const params = { model, max_tokens: 64, messages: [say("Hello")] };
      const {
        data,
        response,
        request_id: id,
      } = await client.messages.create(params).withResponse();
      expect(id).toMatch(REQUEST_ID);
      expect(at(data, "_request_id")).toBe(id);
      expect(response.headers.get("x-tm-provider")).toBe(model === "test/a" ? "prov-a" : "prov-b");
      expect(await settledRecord(gateway, account, id)).toMatchObject({
        model,
        route: "/v1/messages",
        outcome: "completed",
        total_cost: at(data.usage, "cost"),
        attempts: [{ n: 1, outcome: "completed", settlement: "reported" }],
      });
    });

    test("the accumulator returns every text, in order, and ends once", async () => {
      const stream = client.messages.stream({ model, max_tokens: 64, messages: [say("Hello")] });
      const texts: string[] = [];
      const kinds: string[] = [];
      stream.on("text", (delta) => texts.push(delta));
      stream.on("streamEvent", (event) => kinds.push(event.type));
      expect(await stream.finalText()).toBe("You said: Hello");
      expect(texts.join("")).toBe("You said: Hello");
      expect(kinds[0]).toBe("message_start");
      expect(kinds.slice(-2)).toEqual(["message_delta", "message_stop"]);
      expect(kinds.filter((kind) => kind === "content_block_start")).toHaveLength(1);
      expect(stream.request_id).toMatch(REQUEST_ID);
    });

    test("a stream that dies in the middle ends with one typed error", async () => {
      const messages = [say("[words:60] [[fault:reset:event:6]]")];
      const stream = client.messages.stream({ model, max_tokens: 400, messages });
      const fault: unknown = await stream.finalMessage().catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(Client.APIError);
      expect(at(fault, "error.error")).toMatchObject({
        type: "api_error",
        error_type: "upstream_error",
      });
      const record = await settledRecord(gateway, account, stream.request_id);
      expect(record).toMatchObject({ outcome: "stream_died" });
    });
  });

  describe("what only a provider of the messages wire can do", () => {
    const model = "test/b";
    const thinking = { type: "enabled", budget_tokens: 1024 } as const;
    const messages = [say("Hello")];

    test("thinking comes back with its signature, and can be sent again", async () => {
      const params = { model, max_tokens: 2048, thinking, messages };
      for (const ask of [
        client.messages.create(params),
        client.messages.stream(params).finalMessage(),
      ]) {
        const { content } = await ask;
        expect(content).toMatchObject([
          {
            type: "thinking",
            thinking: "Thinking about: Hello",
            signature: expect.stringMatching(/.+/),
          },
          { type: "text", text: "You said: Hello" },
        ]);
        const again = [...messages, { role: "assistant" as const, content }, say("Again")];
        const second = await client.messages.create({ ...params, messages: again });
        expect(second.content.at(-1)).toMatchObject({ text: "You said: Again" });
      }
    });

    test("a block marked for the prompt cache is written to it and priced", async () => {
      const text = "x".repeat(400);
      const system = [
        { type: "text" as const, text, cache_control: { type: "ephemeral" as const } },
      ];
      const message = await client.messages.create({ model, max_tokens: 64, system, messages });
      const { input_tokens: fresh, output_tokens: output } = message.usage;
      const written = message.usage.cache_creation_input_tokens ?? 0;
      expect(written).toBeGreaterThanOrEqual(100);
      expect(message.usage).toMatchObject({ cost: listedCost(fresh + written, output) });
    });

    test("the beta namespace is served: its header is passed on, its query is not", async () => {
      const message = await client.beta.messages.create({
        model,
        max_tokens: 64,
        messages: [{ role: "user", content: "Hello" }],
        betas: ["interleaved-thinking-2025-05-14"],
      });
      expect(message.content).toMatchObject([{ text: "You said: Hello" }]);
      expect(gateway.simulator.calls().at(-1)).toMatchObject({
        path: "/b/v1/messages",
        query: "",
        headers: { "anthropic-beta": "interleaved-thinking-2025-05-14" },
      });
    });
  });
});

function toolUses(message: Anthropic.Message): readonly Anthropic.ToolUseBlock[] {
  return message.content.flatMap((block) => (block.type === "tool_use" ? block : []));
}
