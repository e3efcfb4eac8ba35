import { expect, test } from "vitest";

import {
  adoptedColumns,
  closeColumns,
  holdColumns,
  jobCloseColumns,
} from "../../src/ledger/attempt-columns.ts";
import { withBackend } from "../support/postgres.ts";

const backend = withBackend();

/** The types of a function's parameters, in their order. */
async function parametersOf(name: string): Promise<unknown> {
  const [row] = await backend.query(
    `select array(select format_type(t, null) from unnest(proargtypes) with ordinality as u(t, n)
      order by n) as types
    from pg_proc where proname = $1`,
    [name],
  );
  return row?.["types"];
}

const held = holdColumns.cells.map(({ type }) => type);
const heldArrays = held.map((type) => `${type}[]`);
const closedArrays = closeColumns.cells.map(({ type }) => `${type}[]`);
const jobArrays = jobCloseColumns.cells.map(({ type }) => `${type}[]`);
const member = ["text", "bigint"];
const jobEnd = ["text", "text", "text", "timestamp with time zone", "numeric"];

test.each([
  { name: "ledger_batch", takes: [...member, ...closedArrays, ...heldArrays] },
  { name: "annul_attempt", takes: held },
  { name: "close_batch", takes: closedArrays },
  { name: "finish_job", takes: [...jobEnd, ...jobArrays] },
])("the parameters of $name are the declared columns in their order", async ({ name, takes }) => {
  expect(await parametersOf(name)).toEqual(takes);
});

test("every declared column is a column of the journal", async () => {
  const rows = await backend.query(
    "select attname::text as name from pg_attribute where attrelid = 'attempt'::regclass",
  );
  const known = new Set(rows.map(({ name }) => name));
  const declared = [
    ...holdColumns.cells.map(({ name }) => name),
    ...closeColumns.cells.map(({ name }) => name),
    ...adoptedColumns.cells.map(({ name }) => name),
  ];
  expect(declared.filter((name) => !known.has(name))).toEqual([]);
});
