import { expect, test } from "vitest";

import { createRequestId } from "../../kernel/index.ts";
import { parseTraceparent, toTraceId, formatTraceparent } from "./request-notes.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test.each([
  ["00", "01", { isSampled: true, isRandom: false }],
  ["00", "02", { isSampled: false, isRandom: true }],
  ["00", "ff", { isSampled: true, isRandom: true }],
  ["cc", "00", { isSampled: false, isRandom: false }],
])("a traceparent of version %s with flags %s is read", (version, flags, expected) => {
  const read = parseTraceparent(`${version}-${TRACE}-${SPAN}-${flags}`);
  expect(read).toEqual({ traceId: TRACE, spanId: SPAN, ...expected });
});

test("a traceparent of a later version may have further fields", () => {
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future`)).toBeDefined();
});

test.each([
  ["a missing traceparent", undefined],
  ["a traceparent of version ff", `ff-${TRACE}-${SPAN}-01`],
  ["a traceparent of version 00 with further fields", `00-${TRACE}-${SPAN}-01-more`],
  ["a traceparent with a trace id of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["a traceparent with a span id of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["a traceparent in capital letters", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["a traceparent of over 300 characters", `cc-${TRACE}-${SPAN}-01-${"a".repeat(300)}`],
])("%s is ignored", (_what, header) => {
  expect(parseTraceparent(header)).toBeUndefined();
});

test("a traceparent is parsed to the context it was made of", () => {
  for (const isSampled of [true, false]) {
    for (const isRandom of [true, false]) {
      const context = { traceId: TRACE, spanId: SPAN, isSampled, isRandom };
      expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
    }
  }
});

test("without a caller's trace the trace id is the request id without its hyphens", () => {
  const id = createRequestId(1_790_000_000_000);
  expect(toTraceId(id)).toMatch(/^[0-9a-f]{32}$/);
  expect(toTraceId(id)).toBe(id.replaceAll("-", ""));
});
