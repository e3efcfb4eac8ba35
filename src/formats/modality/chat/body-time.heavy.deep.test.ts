import { describe, expect, test } from "vitest";

import { JSON_KEYS_MAX, JSON_VALUES_MAX } from "../../../kernel/json/json-limits.ts";
import { readDecisionBody } from "../../../../test/fixtures/modality/decision-kit.ts";
import { EVERY_HISTORY_RULE, profiled } from "../../../../test/fixtures/modality/profile-kit.ts";
import {
  buildBody,
  toBytes,
  chatFor,
  buildDeployment,
  encode,
  readBody,
  readGood,
} from "../../../../test/fixtures/modality/request-kit.ts";

/**
 * Maximum time in ms to read one body, because reading a body blocks other requests. The limits on
 * the number of values and keys must ensure it. Only `npm run check:deep` measures it, because
 * nothing else runs then.
 */
const BODY_MS_MAX = 200;
const RUNS = 10;

function fastestMs(wire: "wire_a" | "wire_b", body: Buffer): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && fastest > BODY_MS_MAX / 2; run += 1) {
    const startedMs = performance.now();
    const read = readBody(wire, body);
    if (read.ok) read.request.decoded();
    fastest = Math.min(fastest, performance.now() - startedMs);
  }
  return fastest;
}

test("a body of 10 MB is rewritten for the strictest provider within 50 ms", () => {
  const strict = profiled(
    {
      undeclared: "drop",
      rename: { seed: "random_seed" },
      history: EVERY_HISTORY_RULE,
      tool_signature: "gemini",
      body: { safe_prompt: true },
    },
    "seed",
  );
  const long = "x".repeat(4_000);
  const parts = [
    { type: "text", text: long, cache_control: { type: "ephemeral" } },
    { type: "text", text: "b" },
  ];
  const turn = [
    { role: "user", name: "ada", content: parts },
    { role: "assistant", name: null, content: parts, reasoning_content: "hm" },
  ];
  const messages = Array.from({ length: 2_400 }, (_, at) => turn[at % 2]);
  const body = buildBody({ seed: 1, user: "u", messages });
  expect(body.length).toBeGreaterThan(9_500_000);
  const deployment = buildDeployment("wire_a", strict);
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run += 1) {
    const request = readGood("wire_a", body);
    const startedMs = performance.now();
    chatFor(request).servabilityProblem(request, deployment);
    toBytes(encode(request, deployment).body);
    fastest = Math.min(fastest, performance.now() - startedMs);
  }
  expect(fastest).toBeLessThan(50);
});

const OPEN = '{"model":"a","messages":[{"role":"user","content":"x"}]';

function keys(count: number, name = "k"): string {
  return Array.from({ length: count }, (_, at) => `"${name}${at}":1`).join(",");
}

function repeated(item: string, count: number): string {
  return Array.from({ length: count }, () => item).join(",");
}

/** Returns named bodies that take the longest to check, with this many keys and values. */
function slowestBodies(keyCount: number, valueCount: number): readonly [string, string][] {
  return [
    ["unknown fields", `${OPEN},${keys(keyCount)}}`],
    ["escaped names", `${OPEN},${keys(keyCount, String.raw`\u006b`)}}`],
    ["metadata", `${OPEN},"metadata":{${keys(keyCount)}}}`],
    [
      "fields of a message",
      `{"model":"a","messages":[{"role":"user","content":"x",${keys(keyCount)}}]}`,
    ],
    [
      "messages",
      `{"model":"a","messages":[${repeated('{"role":"user","content":"x"}', keyCount / 2)}]}`,
    ],
    ["values", `${OPEN},"stop":[${repeated('"a"', valueCount)}]}`],
    ["a forbidden key at the end", `${OPEN},"x":{${keys(keyCount)},"__proto__":1}}`],
  ];
}

describe.each(["wire_a", "wire_b"] as const)("the worst bodies of %s", (wire) => {
  /* The counts are slightly below the bounds, as the rest of the body has keys and values too. */
  test.each(slowestBodies(JSON_KEYS_MAX - 20, JSON_VALUES_MAX - JSON_KEYS_MAX))(
    "with %s are accepted or refused within 200 ms",
    (_what, text) => {
      expect(fastestMs(wire, Buffer.from(text))).toBeLessThan(BODY_MS_MAX);
    },
  );
});

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `l${at}`);
const described = (count: number): object =>
  Object.fromEntries(names(count).map((name) => [name, "d"]));
const asking = (question: object): object => ({ questions: { q: question } });
const entities = (labels: unknown): object => asking({ type: "entities", labels, threshold: 0.5 });

test.each([
  ["as many labels as are accepted", entities(names(19_900))],
  ["as many described labels", entities(described(9_900))],
  ["as many fields", asking({ type: "structure", fields: names(6_000).map((name) => ({ name })) })],
  ["far too many labels", entities(names(110_000))],
  ["far too many described labels", entities(described(48_000))],
  ["far too many tasks", { schema: { classifications: names(15_000).map((task) => ({ task })) } }],
  ["long instructions", asking({ type: "noul", instructions: names(110_000) })],
  ["instructions of many names", asking({ type: "noul", instructions: described(48_000) })],
] as const)("a decisions request with %s is accepted or refused within 200 ms", (_what, body) => {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && fastest > BODY_MS_MAX / 2; run += 1) {
    const startedMs = performance.now();
    readDecisionBody(JSON.stringify({ model: "m", state: "s", ...body }));
    fastest = Math.min(fastest, performance.now() - startedMs);
  }
  expect(fastest).toBeLessThan(BODY_MS_MAX);
});
