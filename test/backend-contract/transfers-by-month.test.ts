import { beforeAll, describe, expect, test } from "vitest";

import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { AttemptId, KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { brokenBooks } from "../support/books.ts";
import { closeRow, moveBooksTo, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const backend = withPricedBackend();
let org: { readonly orgId: OrgId; readonly keyId: KeyId };
let other: OrgId;

/** The first month of the books; the database's clock may be long past it. */
const FIRST = "2026-01-01";
const FIRST_TABLE = "transfer_202601";
const CURRENT_TABLE = `transfer_${new Date().toISOString().slice(0, 7).replace("-", "")}`;

beforeAll(async () => {
  await moveBooksTo(backend, FIRST);
  org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  other = (await orgWithKey(backend, { creditMicroUsd: 5n })).orgId;
  await backend.creditStore.grant(grantOf("before"), testOperator);
});

let made = 0n;

/** Holds and closes one attempt. */
async function cycle(): Promise<AttemptId> {
  made += 1n;
  const attemptId = made as AttemptId;
  const store = backend.ledgerBatchStore;
  const member = await store.join(`one-${made}`, 60_000);
  await store.hold(member, reserveRow({ ...org, attemptId }, 100n));
  const verdicts = await store.closeBatch([closeRow(attemptId, 40n)]);
  expect(verdicts.map(({ kind }) => kind)).toEqual(["closed"]);
  return attemptId;
}

function grantOf(ref: string): Parameters<PostgresBackend["creditStore"]["grant"]>[0] {
  return { orgId: org.orgId, amountMicroUsd: microUsd(7n), ref, isTrial: false };
}

/** The tables in which the transfers of an attempt, or of a reference, are stored. */
async function tablesOf(what: { attempt: AttemptId } | { ref: string }): Promise<unknown> {
  const [column, value] = "attempt" in what ? ["attempt_id", what.attempt] : ["ref", what.ref];
  const rows = await backend.query(
    `select tableoid::regclass::text as name from transfer where ${column} = $1`,
    [value],
  );
  return rows.map(({ name }) => name);
}

describe("transfers have a table for each month:", () => {
  test("the books use the table of the current month once it exists, and stay exact", async () => {
    expect(await tablesOf({ attempt: await cycle() })).toEqual([FIRST_TABLE]);
    const [before] = await backend.query("select max(position) as last from transfer");
    await backend.ledgerBatchStore.maintain();
    const attempt = await cycle();
    expect(await tablesOf({ attempt })).toEqual([CURRENT_TABLE]);
    const later = "select min(position) > $1 as is_later from transfer where attempt_id = $2";
    expect(await backend.query(later, [before?.["last"], attempt])).toEqual([{ is_later: true }]);
    expect(await brokenBooks({ backend })).toEqual([]);
  });

  test("tables of the next two months are made ahead, and the positions in the books continue", async () => {
    const read = "select last_value as at from ledger_position";
    const before = await backend.query(read);
    await backend.ledgerBatchStore.maintain();
    expect(await backend.query(read)).toEqual(before);
    const tables = "select from pg_inherits where inhparent = 'transfer'::regclass";
    // The tables are those of the first month, this month, and the next two.
    expect(await backend.query(tables)).toHaveLength(4);
  });

  test.each([
    ["before", FIRST_TABLE],
    ["after", CURRENT_TABLE],
  ])(
    "a grant with a reference from %s the current month's table was made counts once",
    async (ref, table) => {
      const first = await backend.creditStore.grant(grantOf(ref), testOperator);
      expect(first.created).toBe(ref === "after");
      const again = await backend.creditStore.grant(grantOf(ref), testOperator);
      expect(again).toEqual({ ...again, created: false, balanceMicroUsd: first.balanceMicroUsd });
      const taken = backend.creditStore.grant({ ...grantOf(ref), orgId: other }, testOperator);
      await expect(taken).rejects.toThrow(/belongs to another grant/);
      expect(await tablesOf({ ref })).toEqual([table]);
      expect(await brokenBooks({ backend })).toEqual([]);
    },
  );

  test("no reference is used twice at all, and no attempt is charged twice a month", async () => {
    const insert = (attempt: AttemptId | null, ref: string | null): Promise<unknown> =>
      backend.query(
        `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount, ref)
         values (nextval('ledger_position'), $1, 'settle', 'a', 'b', 1, $2)`,
        [attempt, ref],
      );
    await expect(insert(null, "before")).rejects.toMatchObject({ code: "23505" });
    await expect(insert(null, "after")).rejects.toMatchObject({ code: "23505" });
    const attempt = await cycle();
    await expect(insert(attempt, null)).rejects.toMatchObject({ code: "23505" });
  });

  test("transfers of every month cannot be changed or deleted", async () => {
    for (const sql of [
      "update transfer set amount = amount + 1",
      "delete from transfer",
      "truncate transfer",
      `truncate ${FIRST_TABLE}`,
      `truncate ${CURRENT_TABLE}`,
      "delete from transfer_ref",
    ]) {
      await expect(backend.query(sql), sql).rejects.toThrow(/never changed or deleted/);
    }
  });
});
