import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { freshBackend, type FreshBackend } from "../../../test/support/postgres.ts";
import { plainColumn, readPlainColumn, textColumn } from "./column-text.ts";

let backend: FreshBackend;

beforeAll(async () => {
  backend = await freshBackend();
});
afterAll(() => backend.close());

test("PostgreSQL reads a column of texts as it was, but for zero characters", async () => {
  const awkward = fc.constantFrom(
    "null",
    "NULL",
    "",
    "{",
    '"',
    "\\",
    "a,b",
    " x ",
    "\n",
    "é",
    "nUll",
  );
  const text = fc.option(fc.oneof(awkward, fc.string({ unit: "grapheme", maxLength: 12 })));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (values) => {
      const sql = "select $1::text[] as column";
      const [row] = await backend.query(sql, [textColumn(values, (value) => value)]);
      expect(row?.["column"]).toEqual(values.map((value) => value?.replaceAll("\0", "") ?? null));
    }),
    { numRuns: runs(200) },
  );
});

test("a plain column carries integers of any size, booleans and nothing", async () => {
  const values = [1n << 62n, -5, true, false, null];
  expect(plainColumn(values, (value) => value)).toBe("{4611686018427387904,-5,true,false,NULL}");
  expect(readPlainColumn("{4,5}")).toEqual(["4", "5"]);
  expect(readPlainColumn("{}")).toEqual([]);
  expect(readPlainColumn(null)).toEqual([]);
});
