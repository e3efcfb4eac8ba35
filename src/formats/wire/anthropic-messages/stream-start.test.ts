import { expect, test } from "vitest";
import {
  chunks,
  delta,
  done,
  openStream,
  play,
} from "../../../../test/fixtures/modality/answer-kit.ts";
import { buildBody, readGood } from "../../../../test/fixtures/modality/request-kit.ts";
import { estimateDocument } from "./estimate-tokens.ts";

test("a translated stream starts with the estimated input and ends with the observed one", () => {
  const usage = { prompt_tokens: 9, completion_tokens: 2 };
  const wires = { client: "wire_b", upstream: "wire_a", inputTokens: 11 } as const;
  const pieces = chunks(delta({ content: "hi" }), { ...delta({}, "stop"), usage }, done);
  const { text } = play(openStream(wires), [pieces]);
  const [start = "", ...rest] = text.split("\n\n").filter((event) => event !== "");
  expect(JSON.parse(start.split("data: ")[1] ?? "")).toMatchObject({
    type: "message_start",
    message: { usage: { input_tokens: 11, output_tokens: 0 } },
  });
  expect(rest.at(-2)).toContain('"input_tokens":9');
});

test("the estimate is that of count_tokens; a very long body is estimated from its bytes", () => {
  const request = readGood("wire_b", { system: "You are careful.", max_tokens: 5 });
  expect(request.countInputTokens()).toBe(estimateDocument(request.doc));
  expect(request.countInputTokens()).toBeGreaterThan(5);
  const long = buildBody({ system: "word ".repeat(100_000), max_tokens: 5 });
  expect(readGood("wire_b", long).countInputTokens()).toBe(Math.ceil(long.length / 4));
});
