import { expect, test } from "vitest";

import { readUsageQuery } from "./read-query.ts";

test.each([
  ...["0", "-1", "1001", "x", "1e2", ""].map((limit) => `limit=${limit}`),
  ...["yesterday", "", "-1", "%00", "2026-13-01", "1 2026"].map((from) => `from=${from}`),
  ...["never", "2026-02-01T10:00", "%2B275760-09-13"].map((to) => `to=${to}`),
  ...["colour", "Model", "", "model;drop"].map((group) => `group_by=${group}`),
  ...["x", "", "zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz", "%00", "';drop table org--"].map(
    (cursor) => `cursor=${cursor}`,
  ),
  "cursor=ffffffff-ffff-ffff-ffff-ffffffffffff",
  "format=xml",
  "format=",
])("a usage query with %s is a 400 that names the parameter", (query) => {
  const read = readUsageQuery(new URLSearchParams(query), undefined);
  if (read.ok) throw new Error("it was read");
  const name = query.slice(0, query.indexOf("="));
  expect(read.refusal).toMatchObject({ class: "invalid_request", status: 400 });
  expect(read.refusal.message.startsWith(`${name} `)).toBe(true);
});

test.each([
  ["from=0&to=99999999999", { fromMs: 0, toMs: 99_999_999_999_000 }],
  ["from=1969-12-31", { fromMs: -86_400_000 }],
  ["to=9999-12-31T23:59:59Z", { toMs: 253_402_300_799_000 }],
  ["to=0001-01-01T00:00:00.000%2B02:00", { toMs: -62_135_604_000_000 }],
])("the times of %s are read, however far away they are", (query, range) => {
  expect(readUsageQuery(new URLSearchParams(query), undefined)).toMatchObject({ ok: true, range });
});

test.each([
  ["text/csv", "", true],
  ["Text/CSV, */*;q=0.1", "", true],
  ["application/json;q=0.5, text/csv;q=0.9", "", true],
  ["text/csv, application/json", "", false],
  ["text/csv;q=0", "", false],
  ["*/*", "", false],
  ["text/csv", "format=json", false],
  ["application/json", "format=csv", true],
])("accept %s with ?%s asks for a file: %s", (accept, query, isFile) => {
  expect(readUsageQuery(new URLSearchParams(query), accept)).toMatchObject({ ok: true, isFile });
});
