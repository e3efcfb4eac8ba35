import { describe, expect, test } from "vitest";
import { refusal } from "../../../kernel/core/refusals.ts";
import {
  chunks,
  costUsd,
  delta,
  done,
  EVERY,
  events,
  openStream,
  play,
  playJson,
  playStream,
  wholeAnswer,
} from "../../../../test/fixtures/modality/answer-kit.ts";

interface Chunk {
  readonly choices: readonly { readonly finish_reason: string | null; readonly delta: object }[];
  readonly usage?: { readonly cost?: number } | null;
  readonly error?: unknown;
  readonly moderation?: unknown;
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usageChunk = { ...delta({}), choices: [], usage };
const start = { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } };
const bare = { type: "message_start", message: {} };
const word = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } };
const hi = delta({ role: "assistant", content: "hi" });

const upstreams = ["wire_a", "wire_b"] as const;

function chunksOf(text: string): readonly Chunk[] {
  const lines = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice(6)) as Chunk);
}

function served(upstream: "wire_a" | "wire_b", pieces: string, wantsUsageChunk = false): string {
  return play(openStream({ client: "wire_a", upstream, wantsUsageChunk }), [pieces]).text;
}

describe.each(upstreams)("a stream of a provider of %s", (upstream) => {
  test("has the usage in a separate chunk for a caller that asked for it", () => {
    const nulls = (chunk: object): object => ({ ...chunk, usage: null });
    const close = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} };
    const answers = {
      wire_a: chunks(nulls(hi), nulls(delta({}, "stop")), usageChunk, done),
      wire_b: events(start, word, close, { type: "message_stop" }),
    };
    const all = chunksOf(served(upstream, answers[upstream], true));
    expect(all.at(-1)).toMatchObject({ choices: [], usage: { cost: 0.001932 } });
    expect(all.at(-2)).toMatchObject({ choices: [{ finish_reason: "stop" }] });
    expect(all.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });

  test("that breaks off reports its known usage in a chunk before the error", () => {
    for (const wantsUsageChunk of [false, true]) {
      const bridge = openStream({ client: "wire_a", upstream, wantsUsageChunk });
      const first = { wire_a: chunks({ ...hi, usage }), wire_b: events(start, word) };
      bridge.push(Buffer.from(first[upstream]));
      bridge.takeOutput();
      const all = chunksOf(bridge.fail(refusal("upstream_error", "x"), costUsd));
      expect(all).toHaveLength(2);
      expect(all[0]).toMatchObject({ usage: { cost: 0.001932 } });
      expect(all[0]?.choices).toHaveLength(wantsUsageChunk ? 0 : 1);
      expect(all[1]).toHaveProperty("error");
    }
  });
});

describe("chunks of a wire_a provider", () => {
  const said = `"id":"a","object":"chat.completion.chunk","created":7,"model":"acme/test-1","choices":`;
  const choice = '[{"index":0,"delta":{"role":"assistant","content":"a"}}]';
  test.each([
    `{${said}${choice},"usage":null}`,
    `{"us\\u0061ge":null,${said}${choice.replace('"a"', String.raw`"\"usage\":null"`)}}`,
    `{${said}${choice} , "usage": {"prompt_tokens":1} }`,
  ])("lose their usage and nothing else: %s", (text) => {
    const bridge = openStream({ client: "wire_a", upstream: "wire_a" });
    bridge.push(Buffer.from(`data: ${text}\n\n`));
    const sent = JSON.parse((bridge.takeOutput() ?? "").toString().slice(6)) as object;
    const expected = JSON.parse(text) as { usage?: unknown };
    delete expected.usage;
    expect(sent).toEqual(expected);
  });

  test("with content are sent at once, and their finish reason is sent with the usage", () => {
    const bridge = openStream({ client: "wire_a", upstream: "wire_a" });
    bridge.push(Buffer.from(chunks(delta({ content: "all" }, "length"), usageChunk, done)));
    const [first] = chunksOf((bridge.takeOutput() ?? "").toString());
    expect(first?.choices[0]).toMatchObject({ delta: { content: "all" }, finish_reason: null });
    const [last, ...rest] = chunksOf(bridge.finish(costUsd).toString());
    expect(last?.choices[0]).toMatchObject({ delta: {}, finish_reason: "length" });
    expect(last?.usage).toMatchObject({ prompt_tokens: 3, cost: 0.001932 });
    expect(rest).toEqual([]);
  });

  test("that have a usage beside a choice report it once: in the usage chunk, or in the last chunk", () => {
    const counted = (chunk: object): object => ({ ...chunk, usage });
    const pieces = chunks(counted(hi), counted(delta({}, "stop")), usageChunk, done);
    const reported = { ...usage, cost: 0.001932 };
    const asked = chunksOf(served("wire_a", pieces, true));
    expect(asked.map((chunk) => chunk.usage)).toEqual([null, null, reported]);
    const plain = chunksOf(served("wire_a", pieces));
    expect(plain.map((chunk) => chunk.usage)).toEqual([undefined, reported]);
    const alone = [counted(hi), counted(delta({}, "stop")), done];
    const { bridge } = playStream({ client: "wire_a", upstream: "wire_a" }, ...alone);
    expect(bridge.usage).toMatchObject({ prompt: 3, completion: 2 });
  });

  test.each(upstreams)("that have a usage in the choice beside a null usage bill %s", (client) => {
    const held = { index: 0, delta: {}, finish_reason: "stop", usage };
    const last = { ...delta({}), choices: [held], usage: null };
    const { bridge } = playStream({ client, upstream: "wire_a" }, hi, last, done);
    expect(bridge.usage).toMatchObject({ prompt: 3, completion: 2 });
  });

  describe.each(upstreams)("that report a usage again, to a client of %s", (client) => {
    const details = { prompt_tokens_details: { cached_tokens: 4_000 }, "x-more": 1 };
    const whole = { prompt_tokens: 9_000, completion_tokens: 700, ...details };
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const buckets = { prompt: 5_000, cachedPrompt: 4_000, completion: 700 };
    const thought = { completion_tokens_details: { reasoning_tokens: 200 } };
    const counted = (prompt: number | undefined, completion?: number, more: object = {}) => ({
      prompt_tokens: prompt,
      completion_tokens: completion,
      ...more,
    });
    test.each<[string, readonly object[], object]>([
      ["with zeros erase no count", [whole, none], buckets],
      ["in cumulative chunks have the last one's counts", [counted(9_000, 1), whole], buckets],
      [
        "with other details have the last one's",
        [counted(9_000, 9, details), counted(9_000, 700, thought)],
        { prompt: 9_000, cachedPrompt: 0, completion: 500, internalReasoning: 200 },
      ],
      [
        "without the prompt keep it",
        [counted(9_000, 0, details), counted(undefined, 700)],
        buckets,
      ],
      [
        "without the output keep it",
        [counted(undefined, 700), counted(9_000, 0, details)],
        buckets,
      ],
      [
        "in two halves have both",
        [counted(9_000), counted(undefined, 700), none],
        { prompt: 9_000 },
      ],
      ["with zeros before it have the later one", [none, whole], buckets],
    ])("%s", (_, reports, expected) => {
      const tail = reports.map((each) => ({ ...usageChunk, usage: each }));
      for (const wantsUsageChunk of [false, true]) {
        const wires = { client, upstream: "wire_a", wantsUsageChunk } as const;
        const { bridge, text } = playStream(wires, hi, delta({}, "stop"), ...tail, done);
        expect(bridge.usage).toMatchObject(expected);
        expect(text).toMatch(client === "wire_a" ? /"prompt_tokens":9000\b/ : /"cost":0\.001932/);
        expect(text).toMatch(/"(?:completion|output)_tokens":700\b/);
        expect(text.includes('"x-more"')).toBe(client === "wire_a" && reports.includes(whole));
      }
    });
  });

  test("without a choice reach only clients that requested a usage chunk", () => {
    const note = { ...delta({}), choices: [], prompt_filter_results: [] };
    const pieces = chunks(note, hi, delta({}, "stop"), usageChunk, done);
    expect(served("wire_a", pieces)).not.toContain("prompt_filter_results");
    expect(served("wire_a", pieces, true)).toContain("prompt_filter_results");
  });

  const moderation = { input: { type: "moderation_results" }, output: { type: "error" } };
  test.each([
    ["of their own", [{ ...delta({}), choices: [], moderation }, usageChunk]],
    ["of the usage", [{ ...usageChunk, moderation }]],
  ])("lose no moderation results that come in a chunk %s", (_name, tail) => {
    const last = { ...delta({}, "stop"), moderation: null };
    for (const wantsUsageChunk of [false, true]) {
      const all = chunksOf(served("wire_a", chunks(hi, last, ...tail, done), wantsUsageChunk));
      const results = all.map((chunk) => chunk.moderation ?? undefined);
      expect(results.filter((each) => each !== undefined)).toEqual([moderation]);
      expect(all.some((chunk) => chunk.choices.length === 0)).toBe(wantsUsageChunk);
      expect(all.at(-1)?.usage).toMatchObject({ cost: 0.001932 });
    }
  });

  test("that are empty and follow the finish reason are dropped, and their usage is kept", () => {
    const empty = { ...delta({ role: "assistant", content: "", reasoning_details: [] }), usage };
    const pieces = chunks(hi, delta({ content: "" }, "stop"), empty, done);
    const plain = chunksOf(served("wire_a", pieces));
    expect(plain.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([null, "stop"]);
    expect(plain[1]?.usage).toEqual({ ...usage, cost: 0.001932 });
    const asked = chunksOf(served("wire_a", pieces, true));
    expect(asked.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([
      null,
      "stop",
      undefined,
    ]);
    expect(asked[2]?.usage).toEqual({ ...usage, cost: 0.001932 });
  });

  test("keep their order if content follows a finish reason, and only the last has the usage", () => {
    const more = delta({ content: "more" });
    const pieces = chunks(hi, delta({}, "stop"), more, delta({}, "stop"), done);
    const all = chunksOf(served("wire_a", pieces));
    const reasons = all.map((chunk) => chunk.choices[0]?.finish_reason);
    expect(reasons).toEqual([null, "stop", null, "stop"]);
    expect(all.map((chunk) => "usage" in chunk)).toEqual([false, false, false, true]);
  });
});

test.each(["wire_a", "wire_b"] as const)("usage in a choice reaches a client of %s", (client) => {
  const choices = [{ index: 0, delta: {}, finish_reason: "stop", usage }];
  const last = { ...delta({}, "stop"), choices };
  const { bridge, text } = playStream({ client, upstream: "wire_a" }, hi, last, done);
  expect(bridge.usage).toMatchObject({ prompt: 3, completion: 2 });
  expect(text).toContain('"cost":0.001932');
});

test.each(upstreams)("the cost of earlier attempts is sent before the error of %s", (upstream) => {
  for (const wantsUsageChunk of [false, true]) {
    const fail = (cost: string): readonly Chunk[] => {
      const bridge = openStream({ client: "wire_a", upstream, wantsUsageChunk });
      bridge.push(Buffer.from(upstream === "wire_a" ? chunks(hi) : events(bare, word)));
      bridge.takeOutput();
      return chunksOf(bridge.fail(refusal("upstream_error", "x"), cost));
    };
    const [known, error] = fail("0.25");
    expect(known?.usage).toMatchObject({ prompt_tokens: 0, cost: 0.25 });
    expect(error).toHaveProperty("error");
    expect(fail("0")).toMatchObject([{ error: {} }]);
  }
});

describe.each(EVERY)(
  "a cost that the provider reports in an answer of $upstream to $client",
  (wires) => {
    const isA = wires.upstream === "wire_a";
    const message = {
      type: "message",
      content: [{ type: "text", text: "a" }],
      stop_reason: "end_turn",
    };
    const stream = (first: object, last: object) =>
      isA
        ? playStream(
            wires,
            { ...hi, usage: first },
            delta({}, "stop"),
            { ...usageChunk, usage: last },
            done,
          )
        : playStream(
            wires,
            { type: "message_start", message: { usage: first } },
            word,
            { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: last },
            { type: "message_stop" },
          );
    const whole = (reported: object) =>
      isA
        ? wholeAnswer({ content: "a" }, "stop", { usage: reported })
        : JSON.stringify({ ...message, usage: reported });

    test.each([{ cost: 0.02 }, { cost: null, cost_in_usd_ticks: 200_000_000 }])(
      "is read without token counts, and no counts are made up: %j",
      (reported) => {
        const played = [
          playJson(wires, whole(reported)),
          stream({}, reported),
          stream(reported, {}),
        ];
        for (const { bridge, text } of played) {
          const read = [bridge.state, bridge.reportedCostUsd, bridge.usage];
          expect(read).toEqual(["complete", "0.02", undefined]);
          expect(text).toContain(`"cost":${costUsd}`);
          expect(text).not.toMatch(/ticks|0\.02/);
        }
      },
    );

    test("is read in ticks beside token counts", () => {
      const counts = isA ? usage : { input_tokens: 3, output_tokens: 2 };
      const { bridge } = playJson(wires, whole({ ...counts, cost_in_usd_ticks: 200_000_000 }));
      expect(bridge.reportedCostUsd).toBe("0.02");
      expect(bridge.usage).toMatchObject({ prompt: 3, completion: 2 });
    });

    test("is kept with the token counts if a stream reports them apart", () => {
      const counts = isA ? usage : { input_tokens: 3, output_tokens: 2 };
      for (const { bridge, text } of [
        stream(counts, { cost: 0.02 }),
        stream({ cost: 0.02 }, counts),
      ]) {
        expect(bridge.reportedCostUsd).toBe("0.02");
        expect(bridge.usage).toMatchObject({ prompt: 3, completion: 2 });
        expect(text).toMatch(/"(?:prompt|input)_tokens":3\b/);
      }
    });

    test("is the last one of a stream, but a 0 at its end does not make the answer free", () => {
      const ended = [{ cost: 0 }, { cost: "0.00" }, { cost: null, cost_in_usd_ticks: 0 }];
      for (const zero of ended) {
        expect(stream({ cost: 0.02 }, zero).bridge.reportedCostUsd).toBe("0.02");
      }
      expect(stream({ cost: 0.01 }, { cost: 0.02 }).bridge.reportedCostUsd).toBe("0.02");
      expect(stream({ cost: 0 }, { cost: 0.02 }).bridge.reportedCostUsd).toBe("0.02");
      expect(stream({}, { cost: 0 }).bridge.reportedCostUsd).toBe("0");
    });
  },
);

test.each(upstreams)(
  "a cost without token counts adds no usage before the error of %s",
  (upstream) => {
    const bridge = openStream({ client: "wire_a", upstream });
    const cost = { cost: 0.02 };
    const begun = { type: "message_start", message: { usage: cost } };
    bridge.push(
      Buffer.from(upstream === "wire_a" ? chunks({ ...hi, usage: cost }) : events(begun, word)),
    );
    bridge.takeOutput();
    expect(bridge.reportedCostUsd).toBe("0.02");
    const all = chunksOf(bridge.fail(refusal("upstream_error", "x"), "0"));
    expect(all).toMatchObject([{ error: {} }]);
  },
);
