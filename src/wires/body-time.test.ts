import { describe, expect, test } from "vitest";

import { jsonKeysMax } from "../core/constants.ts";
import { jsonValuesMax } from "./json/json-limits.ts";
import { chatWires } from "./registry.ts";

/* One body never blocks the process: what is slowest to check is bounded in number. */

const BODY_MS_MAX = 200;
const RUNS = 10;
const OPEN = '{"model":"a","messages":[{"role":"user","content":"x"}]';

function keys(count: number, name = "k"): string {
  return Array.from({ length: count }, (_, at) => `"${name}${at}":1`).join(",");
}

function repeated(item: string, count: number): string {
  return Array.from({ length: count }, () => item).join(",");
}

/** A few keys and values fewer than the bounds: those of the frame count too. */
function bodies(keyCount: number, valueCount: number): readonly (readonly [string, string])[] {
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

function fastestMs(wire: "wire_a" | "wire_b", body: Buffer): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && fastest > BODY_MS_MAX / 2; run += 1) {
    const startedMs = performance.now();
    const read = chatWires.readChatRequest(wire, { body });
    if (!("class" in read)) read.crossing();
    fastest = Math.min(fastest, performance.now() - startedMs);
  }
  return fastest;
}

describe.each(["wire_a", "wire_b"] as const)("the worst bodies of %s", (wire) => {
  test.each(bodies(jsonKeysMax - 20, jsonValuesMax - jsonKeysMax))(
    "%s are accepted or refused in time",
    (_what, text) => {
      expect(fastestMs(wire, Buffer.from(text))).toBeLessThan(BODY_MS_MAX);
    },
  );

  test("have no more keys and values than the bounds", () => {
    for (const [, text] of bodies(200_000, 1_000_000)) {
      const read = chatWires.readChatRequest(wire, { body: Buffer.from(text) });
      expect(read).toMatchObject({ class: "invalid_request", status: 400 });
    }
  });
});
