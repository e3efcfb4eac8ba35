import { expect, test } from "vitest";

import {
  adoptedColumns,
  closeColumns,
  holdColumns,
  jobCloseColumns,
} from "../../src/ledger/attempt-columns.ts";
import { batchValues, marks } from "../../src/storage/columns.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withLedger, withPricedBackend } from "../support/postgres.ts";

const backend = withPricedBackend();
const ledger = withLedger(backend, "main");

/** The types of a function's parameters, in their order: of the form that this program calls. */
async function parametersOf(name: string): Promise<unknown> {
  const [row] = await backend.query(
    `select array(select format_type(t, null) from unnest(proargtypes) with ordinality as u(t, n)
      order by n) as types
    from pg_proc where proname = $1 order by pronargs desc limit 1`,
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
  { name: "ledger_batch_2", takes: [...member, ...closedArrays, ...heldArrays] },
  { name: "annul_attempt", takes: held },
  { name: "close_batch_2", takes: closedArrays },
  { name: "finish_job", takes: [...jobEnd, ...jobArrays] },
])("the parameters of $name are the declared columns, in their order", async ({ name, takes }) => {
  expect(await parametersOf(name)).toEqual(takes);
});

test("a program one step older ends attempts by the forms that it knows", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const older = await backend.ledgerBatchStore.join("older", 60_000);
  const rows = [1, 2].map(() => reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 100n));
  await backend.ledgerBatchStore.runBatch({ member: older, closings: [], holds: rows });
  const [first, second] = rows.map(({ attemptId }) =>
    batchValues(jobCloseColumns, [closeRow(attemptId, 5n)]),
  );
  const closings = jobCloseColumns.cells.length;
  const batch = [
    older.instanceId,
    String(older.epoch),
    ...(first ?? []),
    ...batchValues(holdColumns, []),
  ];
  expect(
    await backend.query(`select closed_code from ledger_batch(${marks(batch.length)})`, batch),
  ).toEqual([{ closed_code: [1] }]);
  expect(
    await backend.query(`select closed_code from close_batch(${marks(closings)})`, second ?? []),
  ).toEqual([{ closed_code: [1] }]);
});

test("every declared column is one of the journal", async () => {
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
