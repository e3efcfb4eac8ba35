import { expect, test } from "vitest";

import { buildFileName } from "./file-answer.ts";

const DAY = { fromMs: Date.UTC(2026, 10, 24), toMs: Date.UTC(2026, 10, 25) };
const HOUR = { fromMs: Date.UTC(2026, 10, 24, 9, 30), toMs: Date.UTC(2026, 10, 24, 10, 30) };

test.each([
  [DAY, {}, "requests-2026-11-24.csv"],
  [{ ...DAY, toMs: Date.UTC(2026, 11, 1) }, {}, "requests-2026-11-24-to-2026-11-30.csv"],
  [HOUR, {}, "requests-2026-11-24T0930-to-2026-11-24T1030.csv"],
  [
    DAY,
    { model: "acme/large,acme/small", status: "failed" },
    "requests-2026-11-24-acme-large-acme-small-failed.csv",
  ],
  [DAY, { key: '../"\r\n' }, "requests-2026-11-24-.csv"],
])("the file of the range %j with the filters %j is named %s", (span, filters, name) => {
  expect(buildFileName(span, filters)).toBe(name);
});

test("a file name has at most 255 characters, however many values are filtered by", () => {
  const long = Array.from({ length: 20 }, (_none, at) => `model-${at}-${"x".repeat(190)}`).join();
  const name = buildFileName(HOUR, {
    model: long,
    provider: long,
    key: long,
    tag: long,
    status: long,
  });
  expect(name.length).toBeLessThanOrEqual(255);
});
