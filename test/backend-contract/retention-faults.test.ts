import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { dayFiles, type Day } from "../../src/ledger/retention/retention-tally.ts";
import type { RetentionSession } from "../../src/ledger/retention/postgres-retention-store.ts";
import type { RetireOutcome } from "../../src/ledger/retention/retire-days.ts";
import { DayFolder } from "../../src/ledger/retention/day-folder.ts";
import { brokenBooks, until } from "../support/books.ts";
import { quickOrDeep } from "../support/depth.ts";
import { closeRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, unknownRow, withOldBooks } from "../support/old-days.ts";
import { testOperator } from "../support/test-operator.ts";
import { openTransaction } from "../support/sql.ts";

const books = withOldBooks();
const { root, run, folder: folderOf } = retirementOf(books);

beforeAll(() => run("first", { drop: true }));

let daysMade = 0;
/** Makes a settled day with attempts of every kind; each call makes a later day. */
async function settledDay(): Promise<Day> {
  const day = freshDay();
  await books.fill(day);
  await books.settle();
  return day;
}

function freshDay(): Day {
  daysMade += 1;
  return dayOf(new Date(Date.UTC(2025, 1, daysMade)).toISOString().slice(0, 10));
}

async function isRetired(day: Day): Promise<boolean> {
  return (await books.backend.query("select from retired_day where day = $1", [day])).length > 0;
}

async function waitsOrIsRetired(day: Day): Promise<boolean> {
  const waits = `select from pg_stat_activity
    where datname = current_database() and query like '%as is_busy%' and state like 'idle in%'`;
  return (await books.backend.query(waits)).length > 0 || (await isRetired(day));
}

function daysOf(outcome: RetireOutcome): readonly Day[] {
  return outcome.retired.map((each) => each.day);
}

describe("a retirement that failed is completed by the next run", () => {
  /** Counts the calls to session and folder together. Call number `at` works and then fails. */
  function failingAt(at: number): {
    readonly session: (real: RetentionSession) => RetentionSession;
    readonly archive: (real: DayFolder) => DayFolder;
    /** The call that failed; undefined if there were fewer calls. */
    readonly failed: () => string | undefined;
  } {
    const calls: string[] = [];
    const wrap = <T extends object>(real: T): T =>
      new Proxy(real, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          return (...input: unknown[]): unknown => {
            const result: unknown = Reflect.apply(value, target, input);
            calls.push(String(name));
            const isDue = calls.length === at;
            if (result instanceof Promise) {
              return result.then((answer: unknown) => {
                if (isDue) throw new Error("pulled the plug");
                return answer;
              });
            }
            return isDue ? tornOff(result as AsyncIterable<unknown>) : result;
          };
        },
      });
    return { session: wrap, archive: wrap, failed: () => calls[at - 1] };
  }

  async function* tornOff(all: AsyncIterable<unknown>): AsyncGenerator {
    for await (const each of all) {
      yield each;
      throw new Error("pulled the plug");
    }
  }

  const STEPS = (
    "daysOlderThan survey freeze survey pages stage readStaged readManifest publish retire " +
    "deleteRefused deletePastSpend detachedDays readManifest readPublished drop"
  ).split(" ");
  const WRITES = "freeze stage publish retire deleteRefused deletePastSpend drop".split(" ");

  test(`after every ${quickOrDeep("step that writes", "single step")}`, async () => {
    const failures: string[] = [];
    for (const [i, step] of [...STEPS, undefined].entries()) {
      if (step !== undefined && quickOrDeep(!WRITES.includes(step), false)) continue;
      const at = i + 1;
      const day = freshDay();
      const attempt = await books.hold(day);
      await books.close(unknownRow(attempt));
      await books.close(closeRow(attempt, 7n));
      await books.settle();
      const folder = `torn-${at}`;
      const failing = failingAt(at);
      const ended = await run(folder, {
        drop: true,
        archive: failing.archive(folderOf(folder)),
        session: failing.session,
      }).then(
        (outcome) => outcome.kept.map(({ reason }) => reason).join(),
        (fault: unknown) => String(fault),
      );
      expect(await brokenBooks(books)).toEqual([]);
      const again = await run(folder, { drop: true });
      expect(again).toMatchObject({ stopped: undefined, kept: [] });
      expect(await isRetired(day)).toBe(true);
      expect(await brokenBooks(books)).toEqual([]);
      expect(await tablesOf(day)).toEqual([]);
      const files = dayFiles(day);
      expect(readdirSync(join(root, folder)).sort()).toEqual([files.rows, files.manifest]);
      // In the last run `step` is undefined: no call is left that could fail.
      expect(failing.failed()).toBe(step);
      expect(ended.includes("pulled the plug")).toBe(step !== undefined);
      if (step !== undefined) failures.push(step);
    }
    expect(failures).toEqual(quickOrDeep(WRITES, STEPS));
  });

  test("after its database connection was killed while it waited to detach the day", async () => {
    const day = await settledDay();
    const reader = await longReader();
    // `catch` is attached at once: `run` can reject before the query that kills it has returned.
    const ended = run("killed").catch(String);
    const pid = await until("the day waits for its lock", async () => {
      const [row] = await books.backend.query(
        `select pid from pg_stat_activity
        where datname = current_database() and query like '%pg_stat_activity a using (pid)%'
          and pid <> pg_backend_pid() and state = 'idle in transaction'`,
      );
      return row?.["pid"];
    });
    await books.backend.query("select pg_terminate_backend($1)", [pid]);
    expect(await ended).toMatch(/connection/);
    await reader.end();
    expect(await isRetired(day)).toBe(false);
    expect(await brokenBooks(books)).toEqual([]);
    expect(daysOf(await run("killed"))).toEqual([day]);
    expect(await brokenBooks(books)).toEqual([]);
  });

  test("with the same bytes in its files as the failed run wrote", async () => {
    const day = await settledDay();
    const folder = folderOf("twice");
    const bytes = (): readonly string[] =>
      Object.values(dayFiles(day)).map((name) => readFileSync(join(folder.folder, name), "latin1"));
    // The fourth call to the folder publishes the files and then fails: the journal keeps the day.
    await expect(run("twice", { archive: failingAt(4).archive(folder) })).rejects.toThrow("plug");
    expect(await isRetired(day)).toBe(false);
    const first = bytes();
    expect(daysOf(await run("twice"))).toEqual([day]);
    expect(bytes()).toEqual(first);
  });
});

describe("a day that is not ready is not retired, and neither is any later day,", () => {
  async function expectStop(day: Day, reason: RegExp, retired: readonly Day[] = []): Promise<void> {
    const outcome = await run("not-ready");
    expect(daysOf(outcome)).toEqual(retired);
    expect(outcome.stopped).toEqual({ day, reason: expect.stringMatching(reason) });
    expect(await isRetired(day)).toBe(false);
  }

  test("while one of its attempts is open", async () => {
    const ready = await settledDay();
    const day = freshDay();
    await books.fill(day);
    const open = await books.hold(day);
    const behind = await settledDay();
    await expectStop(day, /1 attempt is still open/, [ready]);
    await expectStop(day, /1 attempt is still open/);
    expect(await isRetired(behind)).toBe(false);
    await books.close(closeRow(open, 5n));
    await books.settle();
    expect(daysOf(await run("not-ready"))).toEqual([day, behind]);
    expect(await brokenBooks(books)).toEqual([]);
  });

  test("when an attempt of the day is opened during its retirement, until that attempt has ended", async () => {
    const day = await settledDay();
    let open: AttemptId | undefined;
    const before = async (step: "freeze" | "retire"): Promise<RetireOutcome> =>
      await run("opened", {
        session: overriding((real) => ({
          [step]: async (of: never) => {
            open = await books.hold(day);
            await real[step](of);
          },
        })),
      });
    const end = async (): Promise<void> => {
      await books.close(closeRow(open as AttemptId, 5n));
      await books.settle();
    };
    expect(await before("freeze")).toMatchObject({ retired: [], stopped: { day } });
    await end();
    await expect(before("retire")).rejects.toThrow("no attempt is open of a day that is taken out");
    await expectStop(day, /1 attempt is still open/);
    await end();
    expect(daysOf(await run("opened-again"))).toEqual([day]);
    expect(await brokenBooks(books)).toEqual([]);
  });

  test("while its attempts may still be settled, and while no closed period contains them", async () => {
    const day = freshDay();
    await books.close(closeRow(await books.hold(day), 5n));
    await expectStop(
      day,
      /1 attempt is not settled with the providers yet; run .*settlement close/,
    );
    await books.backend.query(
      "select advance_settlement_horizon(max(closed_at) + interval '1 second') from attempt",
    );
    await expectStop(day, /1 attempt is in no closed period/);
    await books.settle();
    expect(await run("not-ready")).toMatchObject({ retired: [{ day }], stopped: undefined });
  });

  test("when one of its attempts is corrected after the day was read, and the day stays writable", async () => {
    const day = freshDay();
    const [first, second] = [await books.hold(day), await books.hold(day)];
    await books.close(unknownRow(first), unknownRow(second));
    await books.settle();
    const outcome = await run("not-ready", {
      session: overriding((real) => ({
        freeze: async (frozen) => {
          await books.backend.ledgerBatchStore.closeBatch([closeRow(first, 5n)]);
          await real.freeze(frozen);
        },
      })),
    });
    expect(outcome).toMatchObject({ retired: [], stopped: { day } });
    expect(await verdictOf(second)).toBe("corrected");
    await books.pretendThen();
    await books.settle();
    expect(daysOf(await run("not-ready"))).toEqual([day]);
    expect(await brokenBooks(books)).toEqual([]);
  });
});

describe("a closing that arrives too late", () => {
  test("is refused while its day is exported, and finds no attempt afterwards", async () => {
    const day = freshDay();
    const attempt = await books.hold(day);
    await books.close(unknownRow(attempt));
    await books.settle();
    const balance = async (): Promise<unknown> =>
      await books.backend.recordStore.balance(books.org.orgId);
    const before = await balance();
    const seen: unknown[] = [];
    const outcome = await run("late", {
      session: overriding((real) => ({
        // When the first page is read, the day is frozen and not yet detached.
        pages: async function* (frozen) {
          seen.push(await verdictOf(attempt).catch((fault: unknown) => String(fault)));
          yield* real.pages(frozen);
        },
      })),
    });
    expect(daysOf(outcome)).toEqual([day]);
    expect(seen).toEqual([expect.stringMatching(/never changed/)]);
    expect(await verdictOf(attempt)).toBe("unknown");
    expect(await balance()).toEqual(before);
    expect(await brokenBooks(books)).toEqual([]);
  });
});

describe("retirement beside running gateways", () => {
  test("delays no hold while it waits for a long-running reader", async () => {
    const day = await settledDay();
    const reader = await longReader();
    const running = run("busy");
    await until("retirement waits for the reader", () => waitsOrIsRetired(day));
    const today = dayOf(new Date().toISOString().slice(0, 10));
    // A hold that waited behind the retirement would be refused by its lock timeout.
    for (let n = 0; n < 20; n++) await books.hold(today);
    expect(await isRetired(day)).toBe(false);
    await reader.end();
    expect(daysOf(await running)).toEqual([day]);
  });

  test("lets an audit that began earlier see all of the day or nothing of it", async () => {
    const day = await settledDay();
    // An audit that waits for this lock has its snapshot and has not read the journal yet.
    const lock = "lock table account in access exclusive mode";
    const blocker = await openTransaction(books.backend, lock);
    const audit = brokenBooks(books);
    await until("the audit waits", async () => {
      const rows = await books.backend.query(
        `select from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query like '%account%'`,
      );
      return rows.length > 0;
    });
    const running = run("audited");
    await until("retirement waits too, or is through", () => waitsOrIsRetired(day));
    await blocker.query("rollback");
    await blocker.end();
    expect(await audit).toEqual([]);
    expect(daysOf(await running)).toEqual([day]);
  });

  test("runs in one process at a time", async () => {
    const first = await books.backend.retentionStore.open(testOperator);
    expect(await books.backend.retentionStore.open(testOperator)).toBeUndefined();
    await first?.close();
    const open = () => books.backend.retentionStore.open(testOperator);
    const second = await until("the lock is free", open);
    await second.close();
  });
});

describe("the files of a retired day", () => {
  test("are read back first, and a day whose files are wrong or incomplete stays in the journal", async () => {
    const day = await settledDay();
    const torn = folderOf("torn");
    torn.readStaged = async function* readStaged(of) {
      for await (const piece of DayFolder.prototype.readStaged.call(torn, of)) {
        yield Buffer.from(Buffer.from(piece).toString().replace("acme/small", "acme/smelt"));
      }
    };
    await expect(run("torn", { archive: torn })).rejects.toThrow(
      /read back: the rows have another/,
    );
    const short = run("short", {
      session: overriding((real) => ({
        pages: async function* pages(of) {
          for await (const rows of real.pages(of)) yield rows.slice(1);
        },
      })),
    });
    await expect(short).rejects.toThrow(/the export misses attempts/);
    expect(readdirSync(join(root, "short"))).toEqual([`${dayFiles(day).rows}.partial`]);
    expect(await isRetired(day)).toBe(false);
    expect(daysOf(await run("torn"))).toEqual([day]);
  });

  test("of another database are never overwritten", async () => {
    const day = await settledDay();
    const folder = folderOf("shared");
    expect(daysOf(await run("elsewhere"))).toEqual([day]);
    const mine = await settledDay();
    const foreign = readFileSync(join(root, "elsewhere", dayFiles(day).manifest), "utf8");
    await folder.stage(mine, once("attempt_id\n"));
    await folder.publish(mine, foreign);
    await expect(run("shared")).rejects.toThrow(/another export of .*--out/);
    expect(readFileSync(join(folder.folder, dayFiles(mine).manifest), "utf8")).toBe(foreign);
    expect(await isRetired(mine)).toBe(false);
    expect(daysOf(await run("elsewhere"))).toEqual([mine]);
  });

  test("are verified again before the attempts are deleted", async () => {
    const day = await settledDay();
    await run("drop");
    const rows = join(root, "drop", dayFiles(day).rows);
    const bytes = readFileSync(rows);
    const reason = async (folder: string): Promise<unknown> =>
      (await run(folder, { drop: true })).kept.find((each) => each.day === day)?.reason;
    expect(await reason("empty")).toMatch(/has no export of it; name its folder with --out/);
    writeFileSync(rows, bytes.subarray(0, bytes.length - 20));
    expect(await reason("drop")).toMatch(/cannot be read/);
    const other = await settledDay();
    await run("drop");
    writeFileSync(rows, readFileSync(join(root, "drop", dayFiles(other).rows)));
    expect(await reason("drop")).toMatch(/cannot be read|the rows/);
    const manifest = join(root, "drop", dayFiles(day).manifest);
    const signed = readFileSync(manifest);
    writeFileSync(manifest, readFileSync(join(root, "drop", dayFiles(other).manifest)));
    expect(await reason("drop")).toMatch(/is not the one that was retired/);
    expect(await tablesOf(day)).toHaveLength(1);
    writeFileSync(manifest, signed);
    writeFileSync(rows, bytes);
    const outcome = await run("drop", { drop: true });
    expect(outcome.dropped).toContain(day);
    expect(await tablesOf(day)).toEqual([]);
    expect(await brokenBooks(books)).toEqual([]);
  });
});

describe("a row that was written into a retired day", () => {
  test("stops retirement, with the reason", async () => {
    const day = await settledDay();
    expect(daysOf(await run("again"))).toEqual([day]);
    await books.close(closeRow(await books.hold(day), 5n));
    await books.settle();
    const outcome = await run("again");
    expect(outcome).toMatchObject({ retired: [], stopped: { day } });
    expect(outcome.stopped?.reason).toMatch(/was retired before/);
  });
});

async function verdictOf(attempt: AttemptId): Promise<unknown> {
  const [verdict] = await books.backend.ledgerBatchStore.closeBatch([closeRow(attempt, 6n)]);
  return verdict?.kind;
}

/** Replaces methods of the real session. */
function overriding(by: (real: RetentionSession) => Partial<RetentionSession>) {
  return (real: RetentionSession): RetentionSession => {
    const change = by(real);
    return new Proxy(real, {
      get: (target, name) => {
        const changed: unknown = Reflect.get(change, name);
        if (changed !== undefined) return changed;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

async function tablesOf(day: Day): Promise<readonly unknown[]> {
  return await books.backend.query("select from pg_class where relname = $1", [
    `attempt_${day.replaceAll("-", "")}`,
  ]);
}

/** Opens a transaction that has read the journal and does not end. */
function longReader(): Promise<Client> {
  return openTransaction(books.backend, "select count(*) from attempt");
}
