import { expect, test } from "vitest";

import { spansOf } from "../../test/support/otlp-receiver.ts";
import type { PlainSpan } from "./build-spans.ts";
import { SpanBatch } from "./span-batch.ts";

const PROCESS = {
  resource: { "service.name": "market" },
  scope: { name: "tokenmarket", version: "1.2.3" },
  schemaUrl: "https://example.com/schema",
};
const SPAN: PlainSpan = {
  name: "GET /v1/models",
  kind: "server",
  context: {
    traceId: "0123456789abcdef0123456789abcdef",
    spanId: "fedcba9876543210",
    isSampled: true,
    isRandom: true,
  },
  parent: undefined,
  isParentRemote: true,
  startedMs: 10.25,
  endedMs: 12.5,
  hasFailed: false,
  attributes: {},
};
const EPOCH_MS = 1_795_438_979_783;

test("a collector reads every kind of value as it was noted, of any length", () => {
  const attributes = {
    short: "a",
    "long, with a length of two bytes": "b".repeat(127),
    longer: "c".repeat(20_000),
    "other letters": "Größe 寸法 🙂",
    nothing: "",
    zero: 0,
    small: 127,
    large: 2 ** 52 + 1,
    fraction: 0.25,
    negative: -3,
    yes: true,
    no: false,
    list: ["stop", "größer"],
  };
  const batch = new SpanBatch(PROCESS);
  batch.add({ ...SPAN, attributes }, EPOCH_MS);
  const { spans, request } = batch.take();
  expect(spans).toBe(1);
  expect(spansOf(request)).toMatchObject([
    { attributes, resource: PROCESS.resource, schemaUrl: PROCESS.schemaUrl, flags: 0x103 },
  ]);
});

test("the times of a span are its nanoseconds, which a number cannot hold", () => {
  const batch = new SpanBatch(PROCESS);
  batch.add(SPAN, EPOCH_MS);
  batch.add({ ...SPAN, startedMs: 0, endedMs: 0.999_999_9 }, 1);
  expect(spansOf(batch.take().request)).toMatchObject([
    { startNs: 1_795_438_979_793_250_000n, endNs: 1_795_438_979_795_500_000n },
    { startNs: 1_000_000n, endNs: 2_000_000n },
  ]);
});

test("a batch says who caused a span, and whether that is in another process", () => {
  const { context } = SPAN;
  const parent = { ...context, spanId: "00000000000000aa", isRandom: false };
  const batch = new SpanBatch(PROCESS);
  batch.add({ ...SPAN, parent, hasFailed: true }, EPOCH_MS);
  batch.add({ ...SPAN, kind: "client", parent, isParentRemote: false }, EPOCH_MS);
  batch.add({ ...SPAN, kind: "internal", link: parent }, EPOCH_MS);
  const { traceId } = context;
  const links = [{ traceId, spanId: parent.spanId }];
  expect(spansOf(batch.take().request)).toMatchObject([
    { traceId, spanId: context.spanId, parentSpanId: parent.spanId, flags: 0x303, status: 2 },
    { kind: 3, parentSpanId: parent.spanId, flags: 0x103, status: 0, links: [] },
    { kind: 1, parentSpanId: "", flags: 0x103, links },
  ]);
});

test("a batch is larger than what was made ready for it, and the next one begins empty", () => {
  const batch = new SpanBatch(PROCESS);
  const names = Array.from({ length: 600 }, (_, at) => `${at} ${"x".repeat(at)}`);
  for (const name of names) batch.add({ ...SPAN, name }, EPOCH_MS);
  expect(batch.size).toBe(600);
  expect(spansOf(batch.take().request).map(({ name }) => name)).toEqual(names);
  expect(batch.size).toBe(0);
  batch.add(SPAN, EPOCH_MS);
  expect(spansOf(batch.take().request)).toHaveLength(1);
});
