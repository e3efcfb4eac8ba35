import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../test/support/depth.ts";
import type { WireId } from "../../../catalog/catalog.ts";
import { TranslationIssues } from "../../wire/neutral/translation-issues.ts";
import {
  buildBody,
  toBytes,
  buildDeployment,
  encode,
  otherWire,
  readGood,
} from "../../../../test/fixtures/modality/request-kit.ts";

/** Decodes a body into the terms that both wires share. */
function meaning(wire: WireId, body: string): unknown {
  const request = readGood(wire, body);
  const { call, needs } = request.decoded();
  expect(needs).toEqual(new TranslationIssues());
  return { ...call, stream: request.stream, outputTokens: request.outputTokens };
}

function across(wire: WireId, body: string): string {
  return toBytes(encode(readGood(wire, body), buildDeployment(otherWire(wire))).body).toString();
}

const words = fc.string({ unit: "binary", minLength: 1 }).map((text) => `${text}.`);
const id = fc.stringMatching(/^[a-z]{1,6}[.:]?\d{1,3}$/);
const name = fc.stringMatching(/^[a-z_]{1,12}$/);
/** Leaves out the key `__proto__`: a request with it is refused, so it is never translated. */
const input = fc
  .dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .filter((fields) => !JSON.stringify(fields).includes("__proto__"));
const settings = fc.record(
  {
    stream: fc.constant(true),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    max_tokens: fc.integer({ min: 1, max: 32_768 }),
  },
  { requiredKeys: ["max_tokens"] },
);

/** One exchange: the user speaks, the assistant calls tools after a text, results come back. */
const exchange = fc.record({
  question: words,
  remark: fc.option(words, { nil: undefined }),
  calls: fc.uniqueArray(fc.record({ id, name, input, result: words }), {
    selector: (call) => call.id,
    minLength: 1,
    maxLength: 3,
  }),
  answer: words,
});
const talk = fc.record({
  system: fc.option(words, { nil: undefined }),
  // No id of a call repeats in a conversation, because the gateway replaces a repeated one.
  exchanges: fc.array(exchange, { maxLength: 3 }).map((all) =>
    all.map(({ calls, ...rest }, at) => ({
      ...rest,
      calls: calls.map((call) => ({ ...call, id: `${call.id}${at}` })),
    })),
  ),
  last: words,
  stops: fc.array(words, { maxLength: 3 }),
  userId: fc.option(words, { nil: undefined }),
  choice: fc.constantFrom("auto", "none", "any", undefined),
  alone: fc.boolean(),
  settings,
});
type Talk = typeof talk extends fc.Arbitrary<infer T> ? T : never;

function wireABody({
  system,
  exchanges,
  last,
  stops,
  userId,
  choice,
  alone,
  ...rest
}: Talk): string {
  const messages = exchanges.flatMap(({ question, remark, calls, answer }) => [
    { role: "user", content: question },
    {
      role: "assistant",
      content: remark ?? null,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: JSON.stringify(call.input) },
      })),
    },
    ...calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: call.result })),
    { role: "assistant", content: answer },
  ]);
  const tool_choice = choice === "any" ? "required" : choice;
  return buildBody({
    ...rest.settings,
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...messages,
      { role: "user", content: last },
    ],
    ...(stops.length > 0 && { stop: stops }),
    user: userId,
    tools: [{ type: "function", function: { name: "f", description: "d" } }],
    tool_choice,
    ...(alone &&
      choice !== "none" && { tool_choice: tool_choice ?? "auto", parallel_tool_calls: false }),
  });
}

test("a wire_a request that goes to wire_b and back means the same", () => {
  fc.assert(
    fc.property(talk, (value) => {
      const body = wireABody(value);
      const there = across("wire_a", body);
      const back = across("wire_b", there);
      expect(meaning("wire_b", there)).toEqual(meaning("wire_a", body));
      expect(meaning("wire_a", back)).toEqual(meaning("wire_a", body));
    }),
    { numRuns: runs(300) },
  );
});

test("a wire_b request that goes to wire_a and back means the same", () => {
  fc.assert(
    fc.property(talk, (value) => {
      const body = across("wire_a", wireABody(value));
      const there = across("wire_b", body);
      const back = across("wire_a", there);
      expect(meaning("wire_a", there)).toEqual(meaning("wire_b", body));
      expect(JSON.parse(back)).toEqual(JSON.parse(body));
    }),
    { numRuns: runs(300) },
  );
});
