import { describe, expect, test } from "vitest";

import { JSON_KEYS_MAX } from "../../core/constants.ts";
import { JSON_VALUES_MAX } from "../../json/json-limits.ts";
import { readBody } from "../fixtures/request-kit.ts";
import { slowestBodies } from "../fixtures/slowest-bodies.ts";

/*
 * One body never blocks the process: what is slowest to check is bounded in number, and that number in
 * time. The time is measured where nothing else runs, so in the deep check.
 */
const BODY_MS_MAX = 200;
const RUNS = 10;

function fastestMs(wire: "wire_a" | "wire_b", body: Buffer): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && fastest > BODY_MS_MAX / 2; run += 1) {
    const startedMs = performance.now();
    const read = readBody(wire, body);
    if (read.ok) read.request.translationNeeds();
    fastest = Math.min(fastest, performance.now() - startedMs);
  }
  return fastest;
}

describe.each(["wire_a", "wire_b"] as const)("the worst bodies of %s", (wire) => {
  /* A few fewer than the bounds: those of the frame count too. */
  test.each(slowestBodies(JSON_KEYS_MAX - 20, JSON_VALUES_MAX - JSON_KEYS_MAX))(
    "%s are accepted or refused in time",
    (_what, text) => {
      expect(fastestMs(wire, Buffer.from(text))).toBeLessThan(BODY_MS_MAX);
    },
  );
});
