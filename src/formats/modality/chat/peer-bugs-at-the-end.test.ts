import { describe, expect, test } from "vitest";
import {
  costUsd,
  delta,
  done,
  events,
  marketModel,
  openStream,
  play,
  toolDelta,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import {
  close,
  finish,
  named,
  start,
  text,
  textStart,
  toWireA,
  toWireB,
  usageChunk,
} from "../../../../test/fixtures/modality/peer-kit.ts";

/**
 * Bugs of other gateways in their answers, by the numbers of their trackers, and the correct
 * answers.
 */

describe("ends", () => {
  test("new-api 4697, 5345: an answer with a finish and no usage still closes", () => {
    expect(toWireB(delta({ content: "a" }), finish("stop"), done)).toMatchObject({
      isStopped: true,
      usage: { input_tokens: 0, output_tokens: 0 },
    });
  });

  test("CLIProxyAPI 5308: [DONE] without a finish reason", () => {
    expect(toWireB(delta({ content: "a" }), done).stopReason).toBe("end_turn");
    expect(toWireB(toolDelta(0, named("f", "{}", "c")), done).stopReason).toBe("tool_use");
  });

  test("openclaude 21: repeated finish chunks close once", () => {
    const read = toWireB(
      delta({ content: "a" }),
      finish("stop"),
      finish("stop"),
      finish("length"),
      done,
    );
    expect(read).toMatchObject({ stopReason: "end_turn", isStopped: true });
    expect(read.blocks).toHaveLength(1);
  });

  test("9router 1779: message_stop without message_start is a failure before the headers", () => {
    for (const client of ["wire_a", "wire_b"] as const) {
      const bridge = openStream({ client, upstream: "wire_b" });
      bridge.push(Buffer.from(events({ type: "message_stop" })));
      expect(bridge.state).toBe("failed");
      expect(bridge.takeOutput()).toBeUndefined();
    }
  });

  test("9router 1779: an answer without content still starts and stops properly", () => {
    expect(toWireB(delta({ role: "assistant", content: "" }), finish("stop"), done)).toMatchObject({
      blocks: [],
      isStopped: true,
    });
    expect(toWireA(start, ...close("end_turn"))).toMatchObject({
      text: "",
      finish: "stop",
      isDone: true,
    });
  });

  test("claude-code 67809: nothing is sent for events after the end", () => {
    const read = toWireB(delta({ content: "a" }), done, delta({ content: "b" }), usageChunk, done);
    expect(read.blocks[0]?.text).toBe("a");
    const back = toWireA(start, textStart(0), text(0, "a"), ...close("end_turn"), text(0, "b"));
    expect(back.text).toBe("a");
  });

  test("CLIProxyAPI 3133: a cut answer closes its block before the closing delta", () => {
    expect(toWireB(delta({ content: "a" }), finish("length"), done).isStopped).toBe(true);
  });

  test("langwatch 6184: a stream without content fails before the headers", () => {
    const bridge = openStream({ client: "wire_b", upstream: "wire_a" });
    bridge.end();
    expect(bridge).toMatchObject({ state: "failed", failure: { failover: true } });
    expect(bridge.takeOutput()).toBeUndefined();
  });

  test("claude-code 16785: the event line and the JSON type agree, and the reason is a word", () => {
    expect(toWireB(delta({ content: "a" }), done).stopReason).toBe("end_turn");
  });
});

describe("usage", () => {
  test("litellm 31069, 35127: cached tokens are translated with their real numbers", () => {
    const counted = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    };
    const read = toWireB(
      delta({ content: "a" }),
      finish("stop"),
      { ...usageChunk, usage: counted },
      done,
    );
    expect(read.usage).toEqual({
      input_tokens: 30,
      cache_creation_input_tokens: 10,
      cache_read_input_tokens: 60,
      output_tokens: 20,
      cost: Number(costUsd),
    });
  });

  test("bifrost 5354, 5355, 5510: the last count of each field wins, nothing is summed", () => {
    const first = {
      ...start,
      message: { ...start.message, usage: { input_tokens: 90, output_tokens: 1 } },
    };
    const last = { input_tokens: 30, cache_read_input_tokens: 60, output_tokens: 7 };
    const read = toWireA(first, textStart(0), text(0, "a"), ...close("end_turn", last));
    expect(read.usage).toMatchObject({ prompt_tokens: 90, completion_tokens: 7, total_tokens: 97 });
  });

  test("bifrost 3451: cache writes are a part of the prompt once", () => {
    const counts = { input_tokens: 5, cache_creation_input_tokens: 10, output_tokens: 1 };
    const { bridge } = play(openStream({ client: "wire_a", upstream: "wire_b" }), [
      events(start, textStart(0), text(0, "a"), ...close("end_turn", counts)),
    ]);
    expect(bridge.usage).toMatchObject({ prompt: 5, cacheWrite: 10, cachedPrompt: 0 });
  });

  test("Portkey 496: a wire_b stream gives a wire_a client its whole usage object", () => {
    const read = toWireA(start, textStart(0), text(0, "a"), ...close("end_turn"));
    expect(read.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
    expect(read.models).toEqual(new Set([marketModel]));
  });
});
