import { join } from "node:path";

import type { ChangedBy } from "../../src/kernel/changes/change.ts";
import type { AttemptId, ProviderId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import type { CloseRow, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { retireDays, type RetireOutcome } from "../../src/ledger/retention/retire-days.ts";
import { DayFolder } from "../../src/ledger/retention/day-folder.ts";
import { parseDay, type Day } from "../../src/ledger/retention/retention-tally.ts";
import type { RetentionSession } from "../../src/ledger/retention/postgres-retention-store.ts";
import { openSigningKey } from "../../src/ledger/retention/signing-key.ts";
import { until } from "./books.ts";
import {
  closeRow,
  marginPinOf,
  moveBooksTo,
  orgWithKey,
  pinMargin,
  pinPrices,
  reserveRow,
  usageOwing,
  voidRow,
} from "./ledger-rows.ts";
import { freshBackend, type FreshBackend, tamper } from "./postgres.ts";
import { newFolder } from "./run-folder.ts";
import { testOperator } from "./test-operator.ts";
import { withResource } from "./with-resource.ts";

const PROVIDER = "acme-ai" as ProviderId;
const NONE = 0n as AttemptId;

/** The debt to the provider for the attempt that costs 1,700 micro-dollars on each filled day. */
export const OLD_OWED_PICO = picoUsd(1_200_000_001n);

export function dayOf(text: string): Day {
  const day = parseDay(text);
  if (day === undefined) throw new Error(`no day: ${text}`);
  return day;
}

type OldBooks = Awaited<ReturnType<typeof openOldBooks>>;

/** Opens books with attempts on days in the past. */
export function withOldBooks(): OldBooks {
  return withResource(openOldBooks, (books) => books.backend.close());
}

async function openOldBooks() {
  const backend = await freshBackend();
  await moveBooksTo(backend, "2025-12-01");
  await pinPrices(backend);
  await pinMargin(backend, PROVIDER);
  const member = await backend.ledgerBatchStore.join("retention", 600_000);
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  const other = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  let made = 0n;
  const hold = async (day: Day, change: Partial<ReserveRow> = {}): Promise<AttemptId> => {
    await backend.query("select ensure_attempt_partition($1)", [day]);
    const [first] = await backend.query("select attempt_id_at($1::timestamptz)::text as id", [
      `${day}T00:00:00Z`,
    ]);
    made += 1n;
    const attemptId = (BigInt(String(first?.["id"])) + made) as AttemptId;
    const row = reserveRow({ ...org, attemptId }, 1_000n, change);
    await backend.ledgerBatchStore.hold(member, row);
    return attemptId;
  };
  const close = async (...rows: CloseRow[]): Promise<void> => {
    await backend.ledgerBatchStore.closeBatch(rows);
    await pretendThen(backend);
  };
  return {
    backend,
    member,
    org,
    other,
    hold,
    close,
    /** Moves recent ends of attempts to the day of their admission, or soon after it. */
    pretendThen: () => pretendThen(backend),
    /**
     * Writes attempts of every kind on this day: settled, settled with an overrun and a margin,
     * void, charged after a crash, and corrected afterwards. Returns their ids.
     */
    fill: async (day: Day) => {
      const ids: AttemptId[] = [];
      const sold = { ...other, pricePinId: marginPinOf(PROVIDER) };
      for (const change of [{}, sold, { stream: true }, { upstreamModelId: 'a "b",\nc' }, other]) {
        ids.push(await hold(day, change));
      }
      const [settled = NONE, over = NONE, nothing = NONE, crashed = NONE, corrected = NONE] = ids;
      await close(
        closeRow(settled, 320n),
        closeRow(over, 1_700n, { usage: usageOwing(OLD_OWED_PICO), owedPicoUsd: OLD_OWED_PICO }),
        voidRow(nothing),
        unknownRow(crashed),
        unknownRow(corrected),
      );
      await close(closeRow(corrected, 7n));
      return ids;
    },
    /** Closes provider periods until all ended attempts are in one. */
    settle: () => settle(backend),
  };
}

/** Returns the closing that recovery makes for an attempt whose instance died. */
export function unknownRow(attemptId: AttemptId): CloseRow {
  return voidRow(attemptId, {
    basis: "unknown_after_crash",
    upstreamStatus: null,
    errorClass: null,
    costPicoUsd: picoUsd(0n),
  });
}

const OLD_DAYS = 30;

interface RetireRun {
  readonly archive?: DayFolder;
  readonly drop?: boolean;
  readonly by?: ChangedBy;
  /** Wraps the real retention session, so that a test can make it fail. */
  readonly session?: (real: RetentionSession) => RetentionSession;
}

/** Returns a way to retire days of these books, with its own signing key and folders in `root`. */
export function retirementOf(books: OldBooks) {
  const root = newFolder("retire");
  const key = openSigningKey(join(root, "key.pem"));
  const folder = (name: string): DayFolder => new DayFolder(join(root, name));
  return {
    root,
    key,
    folder,
    run: async (name = "days", more: RetireRun = {}): Promise<RetireOutcome> => {
      // A run that was killed a moment ago may still hold the lock.
      const real = await until("no other run is under way", () =>
        books.backend.retentionStore.open(more.by ?? testOperator),
      );
      const session = more.session?.(real) ?? real;
      const archive = more.archive ?? folder(name);
      const what = { olderThanDays: OLD_DAYS, drop: more.drop ?? false };
      try {
        return await retireDays({ session, archive, key, progress: () => undefined }, what);
      } finally {
        await real.close();
      }
    },
  };
}

/** Moves recent ends to the admission of their attempt, or to the settlement horizon if later. */
async function pretendThen(backend: FreshBackend): Promise<void> {
  const admitted = "to_timestamp(1735689600 + ((attempt_id >> 22) / 1000))";
  const isNew = (column: string): string => `${column} > now() - interval '1 hour'`;
  const then = (column: string, seconds: number): string => `${column} = case
    when ${isNew(column)} then greatest(${admitted} + interval '${seconds} seconds', through)
    else ${column} end`;
  await tamper(
    backend,
    `
    update attempt set ${then("closed_at", 1)}, ${then("corrected_at", 2)}
    from settlement_horizon where ${isNew("closed_at")} or ${isNew("corrected_at")}`,
  );
}

async function settle(backend: FreshBackend): Promise<void> {
  const [row] = await backend.query(
    "select max(greatest(closed_at, corrected_at)) as last from attempt",
  );
  const last = row?.["last"];
  if (!(last instanceof Date)) return;
  await backend.settlementStore.closeDuePeriods(
    {
      listed: new Map([["acme-ai", { mode: "arrears", interval: "daily" }]]),
      untilMs: (Math.floor(last.getTime() / DAY_MS) + 1) * DAY_MS,
    },
    testOperator,
  );
}

const DAY_MS = 86_400_000;
