import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import Anthropic0137 from "anthropic-sdk-0137";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { refusal } from "../../../kernel/core/refusals.ts";
import {
  costUsd,
  openStream,
  play,
  type Wires,
} from "../../../../test/fixtures/modality/answer-kit.ts";

/**
 * The official clients read the gateway's bytes with their own strict accumulators, without a
 * network.
 */

function transcript(folder: "openai-chat" | "anthropic-messages", name: string): Buffer {
  return readFileSync(new URL(`../../wire/${folder}/fixtures/${name}.sse`, import.meta.url));
}

function answering(text: string): () => Promise<Response> {
  const headers = { "content-type": "text/event-stream; charset=utf-8" };
  return async () => new Response(text, { headers });
}

function served(wires: Wires, name: string): string {
  const folder = wires.upstream === "wire_a" ? "openai-chat" : "anthropic-messages";
  return play(openStream(wires), [transcript(folder, name)]).text;
}

/** A stream that breaks off after its first word. */
function died(wires: Wires): string {
  const folder = wires.upstream === "wire_a" ? "openai-chat" : "anthropic-messages";
  const bridge = openStream(wires);
  const bytes = transcript(folder, "text");
  bridge.push(bytes.subarray(0, bytes.indexOf("world")));
  const sent = bridge.takeOutput()?.toString() ?? "";
  return sent + bridge.fail(refusal("upstream_error", "the provider failed"), costUsd).toString();
}

const prompt = { model: "acme/test-1", messages: [{ role: "user" as const, content: "hi" }] };

describe.each(["wire_a", "wire_b"] as const)("openai in front of %s", (upstream) => {
  const wires = { client: "wire_a", upstream } as const;
  const read = async (text: string): Promise<OpenAI.ChatCompletion> => {
    const client = new OpenAI({
      apiKey: "k",
      baseURL: "http://x/v1",
      maxRetries: 0,
      fetch: answering(text),
    });
    return client.chat.completions.stream(prompt).finalChatCompletion();
  };

  test("reads text and the usage with its cost", async () => {
    const completion = await read(served(wires, "text"));
    expect(completion.choices[0]).toMatchObject({
      message: { role: "assistant", content: 'Grüße, "world" 🙂\n' },
      finish_reason: "stop",
    });
    expect(completion.usage).toMatchObject({ completion_tokens: 9, cost: 0.001932 });
  });

  test("reads parallel tool calls", async () => {
    const { choices } = await read(served(wires, "tools"));
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: "Looking.",
        tool_calls: [
          { function: { name: "get_weather", arguments: '{"city":"Łódź"}' } },
          { type: "function" },
        ],
      },
    });
  });

  test("sees a stream that died as a typed error", async () => {
    await expect(read(died(wires))).rejects.toMatchObject({
      code: "upstream_error",
      type: "gateway_error",
    });
  });
});

describe.each([
  ["1.11.0", Anthropic],
  ["0.137.0", Anthropic0137 as unknown as typeof Anthropic],
])("@anthropic-ai/sdk %s", (_version, Client) => {
  describe.each(["wire_a", "wire_b"] as const)("in front of %s", (upstream) => {
    const wires = { client: "wire_b", upstream } as const;
    const read = async (text: string): Promise<Anthropic.Message> => {
      const client = new Client({
        apiKey: "k",
        baseURL: "http://x",
        maxRetries: 0,
        fetch: answering(text),
      });
      return client.messages.stream({ ...prompt, max_tokens: 64 }).finalMessage();
    };

    test("reads text and the usage", async () => {
      const message = await read(served(wires, "text"));
      expect(message).toMatchObject({
        content: [{ type: "text", text: 'Grüße, "world" 🙂\n' }],
        stop_reason: "end_turn",
        usage: { input_tokens: 13, cache_read_input_tokens: 8, output_tokens: 9 },
      });
    });

    test("reads parallel tool calls with their arguments parsed", async () => {
      const message = await read(served(wires, "tools"));
      expect(message.stop_reason).toBe("tool_use");
      expect(message.content).toMatchObject([
        { type: "text", text: "Looking." },
        { type: "tool_use", name: "get_weather", input: { city: "Łódź" } },
        { type: "tool_use" },
      ]);
    });

    test("sees a stream that died as a typed error", async () => {
      await expect(read(died(wires))).rejects.toThrow(/upstream_error/);
    });
  });
});
