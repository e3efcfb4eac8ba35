import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { beforeAll, describe, expect, test } from "vitest";
import { type AttemptId, createRequestId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { dayFiles, type Day } from "../../src/ledger/retention/retention-tally.ts";
import type { RetentionSession } from "../../src/ledger/retention/postgres-retention-store.ts";
import type { RetireOutcome } from "../../src/ledger/retention/retire-days.ts";
import { brokenBooks } from "../support/books.ts";
import { dayOf, OLD_OWED_PICO, retirementOf, withOldBooks } from "../support/old-days.ts";
import { closeRow } from "../support/ledger-rows.ts";
import { asAdmin, runOnce } from "../support/postgres.ts";
import { newFolder } from "../support/run-folder.ts";

const books = withOldBooks();
const { root, run } = retirementOf(books);

// Retires 1 January 2025, for which every fresh test database has a partition.
beforeAll(() => run("first"));

describe("a day that is retired", () => {
  const day = dayOf("2025-04-10");
  let ids: readonly AttemptId[];
  let brokenBefore: readonly unknown[];
  let outcome: RetireOutcome;

  beforeAll(async () => {
    ids = await books.fill(day);
    await books.settle();
    brokenBefore = await brokenBooks(books);
    outcome = await run("day");
  });

  test("is removed from the journal, and the books stay exact", async () => {
    expect(outcome).toMatchObject({ dropped: [], kept: [], stopped: undefined });
    expect(outcome.retired.map((each) => each.day)).toEqual([day]);
    const left = "select from attempt where attempt_id = any($1)";
    expect(await books.backend.query(left, [ids])).toEqual([]);
    const table = `select oid::regclass::text as name from pg_class
      where relname = 'attempt_20250410'`;
    expect(await books.backend.query(table)).toEqual([{ name: "retired.attempt_20250410" }]);
    expect([brokenBefore, await brokenBooks(books)]).toEqual([[], []]);
  });

  test("is recorded with its sums", async () => {
    const [retired] = await books.backend.query(
      "select attempts, debit, overrun, cost_pico, owed_pico, file from retired_day where day = $1",
      [day],
    );
    // Five attempts held 1,000 each: two were settled at 320 and 1,700, one void, one charged after
    // a crash, and one corrected to 7.
    expect(retired).toEqual({
      attempts: "5",
      debit: String(320 + 1_000 + 1_000 + 7),
      overrun: "700",
      cost_pico: String((320n + 1_700n + 7n) * 1_000_000n + 1_500_000n),
      owed_pico: String((320n + 7n) * 1_000_000n + 1_000_000n + OLD_OWED_PICO),
      file: "attempt-2025-04-10.csv.gz",
    });
    const spend = await books.backend.query(
      "select scope, id, settled from retired_spend where day = $1 order by scope, settled",
      [day],
    );
    expect(spend).toEqual([
      { scope: "key", id: books.other.keyId, settled: "1007" },
      { scope: "key", id: books.org.keyId, settled: "1320" },
      { scope: "org", id: books.other.orgId, settled: "1007" },
      { scope: "org", id: books.org.orgId, settled: "1320" },
    ]);
  });

  test("can be loaded back by PostgreSQL with every column unchanged", async () => {
    const { backend } = books;
    // The server itself reads the file, perhaps as another user of the machine.
    const place = newFolder("copy");
    chmodSync(place, 0o755);
    const file = join(place, "rows.csv");
    const bytes = gunzipSync(readFileSync(join(root, "day", dayFiles(day).rows)));
    writeFileSync(file, bytes, { mode: 0o644 });
    await backend.query("create table loaded (like retired.attempt_20250410)");
    await runOnce(await asAdmin(backend), `copy loaded from '${file}' (format csv, header match)`);
    rmSync(place, { recursive: true });
    const same = await backend.query(`
      (select * from loaded except select * from retired.attempt_20250410)
      union all (select * from retired.attempt_20250410 except select * from loaded)`);
    expect(same).toEqual([]);
    expect(await backend.query("select from loaded")).toHaveLength(5);
    await backend.query("drop table loaded");
  });

  test("has files that only its owner can read, and no half-written file", () => {
    const names = readdirSync(join(root, "day")).sort();
    expect(names).toEqual(["attempt-2025-04-10.csv.gz", "attempt-2025-04-10.json"]);
    for (const name of names) {
      expect(statSync(join(root, "day", name)).mode & 0o777).toBe(0o600);
    }
  });

  test("cannot be changed or deleted in its new place", async () => {
    const table = "retired.attempt_20250410";
    for (const sql of [`update ${table} set debit = 0`, `delete from ${table}`]) {
      await expect(books.backend.query(sql)).rejects.toThrow(/never changed/);
    }
  });
});

test("a request over midnight keeps the debit of its second day when its first day is retired", async () => {
  const [before, after] = [31, 30].map((ago) =>
    dayOf(new Date(systemClock.nowMs() - ago * 86_400_000).toISOString().slice(0, 10)),
  ) as [Day, Day];
  const { backend, org } = books;
  const nowMs = systemClock.nowMs();
  const [ended, open] = [createRequestId(nowMs), createRequestId(nowMs)];
  const debits = async (): Promise<readonly unknown[]> => {
    const { rows } = await backend.recordStore.usagePage({ orgId: org.orgId, limit: 9 });
    const found = new Map(rows.map((row) => [row.requestId, row.debitMicroUsd]));
    return [found.get(ended), found.get(open)];
  };
  const first = [
    await books.hold(before, { requestId: ended }),
    await books.hold(before, { requestId: open }),
  ];
  const [last, late] = [
    await books.hold(after, { requestId: ended, ordinal: 2 }),
    await books.hold(after, { requestId: open, ordinal: 2 }),
  ];
  await books.close(...first.map((id) => closeRow(id, 7n, { final: false })), closeRow(last, 20n));
  expect(await debits()).toEqual([27n, 7n]);
  await books.settle();
  expect((await run("midnight")).retired.map((each) => each.day)).toEqual([before]);
  expect(await debits()).toEqual([20n, 0n]);
  await books.close(closeRow(late, 30n));
  expect(await debits()).toEqual([20n, 30n]);
  expect(await brokenBooks(books)).toEqual([]);
});

test("a day that a failed retirement left frozen does not block the end of a request over midnight", async () => {
  const [before, after] = [dayOf("2025-05-10"), dayOf("2025-05-11")];
  const { backend, org } = books;
  const requestId = createRequestId(systemClock.nowMs());
  const first = await books.hold(before, { requestId });
  const last = await books.hold(after, { requestId, ordinal: 2 });
  await books.close(closeRow(first, 7n, { final: false }));
  await books.settle();
  const diesBeforeRetiring = (real: RetentionSession): RetentionSession =>
    new Proxy(real, {
      get: (target, name) => {
        if (name === "retire") return () => Promise.reject(new Error("died"));
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  await expect(run("frozen", { session: diesBeforeRetiring })).rejects.toThrow("died");
  await books.close(closeRow(last, 20n));
  const { rows } = await backend.recordStore.usagePage({ orgId: org.orgId, limit: 99 });
  expect(rows.filter((row) => row.requestId === requestId)).toMatchObject([{ debitMicroUsd: 27n }]);
  expect(await brokenBooks(books)).toEqual([]);
  for (const change of ["debit = 0", "final = true, state = 'void'", "corrected_at = now()"]) {
    const changing = backend.query(`update attempt set ${change} where attempt_id = $1`, [first]);
    await expect(changing).rejects.toThrow(/never changed/);
  }
  await books.settle();
  const { retired } = await run("frozen");
  expect(retired.map((each) => each.day)).toEqual([before, after]);
  expect(await brokenBooks(books)).toEqual([]);
});
