import { expect, test } from "vitest";

import { spansOf } from "../../../test/support/otlp-receiver.ts";
import { type PlainSpan, SCHEMA_URL } from "./build-spans.ts";
import { encodeSpans, exportingProcess, sdkSpan } from "./otlp-exporter.ts";

const RESOURCE = { "service.name": "market" };

/** Encodes the spans and returns them as a collector decodes them. */
function collected(spans: readonly PlainSpan[], sinceEpochMs = EPOCH_MS): unknown {
  const of = exportingProcess(RESOURCE, "1.2.3");
  const request = encodeSpans(spans.map((span) => sdkSpan(span, sinceEpochMs, of)));
  return spansOf(Buffer.from(request ?? []));
}

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

test("a collector reads every kind of value unchanged, of any length", () => {
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
  expect(collected([{ ...SPAN, attributes }])).toMatchObject([
    { attributes, resource: RESOURCE, schemaUrl: SCHEMA_URL, flags: 0x103 },
  ]);
});

test("a span's times are exact nanoseconds, beyond the precision of a JavaScript number", () => {
  expect(collected([SPAN])).toMatchObject([
    { startNs: 1_795_438_979_793_250_000n, endNs: 1_795_438_979_795_500_000n },
  ]);
  expect(collected([{ ...SPAN, startedMs: 0, endedMs: 0.999_999_9 }], 1)).toMatchObject([
    { startNs: 1_000_000n, endNs: 2_000_000n },
  ]);
});
