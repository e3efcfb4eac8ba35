import { describe, expect, test } from "vitest";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { balanceOf, closeUntil, spansOf } from "../support/settlement-books.ts";
import { brokenSettlement, withSettlementBooks } from "../support/settlement-journal.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { openTransaction } from "../support/sql.ts";

const { backend, journal } = withSettlementBooks();

describe("the closing of periods", () => {
  test("closes each period once when many processes run it at once", async () => {
    const days = Array.from({ length: 12 }, (_, i) => `2026-02-${String(i + 1).padStart(2, "0")}`);
    await journal.write(
      days.map((day) => ({ provider: "race", closed: `${day}T05:00Z`, cost: 1_999_999n })),
    );
    const { connectionString } = backend;
    const peers = Array.from({ length: 4 }, () =>
      openPostgresBackend({ connectionString, log: silentLog }),
    );
    const closed = await Promise.all(
      [...peers, ...peers].map((peer, i) =>
        closeUntil(peer, `${days[4 + (i % 8)]}T00:00Z`, { id: "race" }),
      ),
    );
    const rest = await closeUntil(backend, "2026-02-13T00:00Z", { id: "race" });
    const spans = spansOf([...closed.flat(), ...rest]).toSorted();
    expect(spans.map((span) => span.slice(0, 10))).toEqual(days);
    const owed = await balanceOf(backend, "race");
    expect(owed).toMatchObject({ accruedMicroUsd: 0n, payableMicroUsd: 23n });
    await Promise.all(peers.map((peer) => peer.close()));
  });

  test("neither blocks running traffic nor loses its attempts", async () => {
    await journal.write([{ provider: "busy", closed: "2026-01-01T05:00Z", cost: 5_000_000n }]);
    const over = new AbortController();
    const ended = { pairs: 0n };
    const traffic = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await journal.write([
          { provider: "busy", cost: 1_000_000n },
          { provider: "busy", cost: 2_000_000n },
        ]);
        ended.pairs += 1n;
      }
    };
    const running = traffic();
    let periods = 0;
    try {
      // If closings stopped the traffic, this loop would not end and the test would time out.
      for (let closings = 0; closings < 3 || ended.pairs < 4n; closings += 1) {
        periods += (await closeUntil(backend, new Date().toISOString(), { id: "busy" })).length;
        expect(await brokenSettlement(backend)).toEqual([]);
      }
    } finally {
      over.abort();
    }
    await running;
    expect(periods).toBe(1);
    expect(await balanceOf(backend, "busy")).toMatchObject({
      accruedMicroUsd: ended.pairs * 3n,
      payableMicroUsd: 5n,
    });
  });

  test("succeeds in the end after a deadlock with running traffic", async () => {
    await journal.write([{ provider: "crossed", closed: "2026-01-01T05:00Z", cost: 5_999_999n }]);
    await journal.write([{ provider: "crossed", closed: "2026-01-01T06:00Z", cost: 5_999_999n }]);
    const touch = "update account set debits = debits where account_id = $1";
    // `traffic` locks the rounding account, which otherwise the first period that needs it makes.
    await backend.query("insert into account values ('rounding') on conflict do nothing");
    const traffic = await openTransaction(backend, touch, ["rounding"]);
    const closing = closeUntil(backend, "2026-01-02T00:00Z", { id: "crossed" });
    await expect
      .poll(() =>
        backend.query(`select from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database() and query like '%move_between_platform_accounts%'`),
      )
      .toHaveLength(1);
    await traffic.query(touch, ["accrual:crossed"]).catch(() => undefined);
    await traffic.query("rollback");
    await traffic.end();
    expect(await closing).toHaveLength(1);
    expect(await balanceOf(backend, "crossed")).toMatchObject({ payableMicroUsd: 11n });
  });

  test("makes no period and no account for a provider without an attempt", async () => {
    expect(await closeUntil(backend, "2026-03-01T00:00Z", { id: "nobody" })).toEqual([]);
    expect(await backend.settlementStore.balances("nobody")).toEqual([]);
    await journal.write([{ provider: "failing", closed: "2026-01-01T05:00Z", cost: "void" }]);
    const [period] = await closeUntil(backend, "2026-03-01T00:00Z", { id: "failing" });
    expect(period).toMatchObject({ payableMicroUsd: 0n, sums: { attempts: 1n, voids: 1n } });
  });

  test("closes all providers together, each by its terms and from its last period", async () => {
    await journal.write([{ provider: "first", closed: "2026-01-01T05:00Z", cost: 1_000_000n }]);
    await closeUntil(backend, "2026-01-02T00:00Z", { id: "first" });
    await journal.write([
      { provider: "first", closed: "2026-01-03T05:00Z", cost: 2_000_000n },
      { provider: "second", closed: "2026-01-01T05:00Z", cost: 4_000_000n },
      { provider: "second", closed: "2026-01-03T05:00Z", cost: 8_000_000n },
    ]);
    const listed = new Map([
      ["first", { mode: "arrears", interval: "half_daily" }],
      ["second", { mode: "prepaid", interval: "weekly" }],
    ] as const);
    const untilMs = Date.parse("2026-01-07T00:00Z");
    const store = backend.settlementStore;
    const { closed } = await store.closeDuePeriods({ listed, untilMs }, testOperator);
    const ours = closed
      .map(({ period }) => period)
      .filter(({ providerId }) => ["first", "second"].includes(providerId));
    expect(ours.map((each) => [each.providerId, each.mode, each.payableMicroUsd])).toEqual([
      ["first", "arrears", 2n],
      ["second", "prepaid", 12n],
    ]);
    expect(spansOf(ours)).toEqual([
      "2026-01-03T00:00 2026-01-03T12:00",
      "2025-12-29T00:00 2026-01-05T00:00",
    ]);
  });

  test("keeps the terms of the last period for an unlisted provider, or settles it monthly", async () => {
    await journal.write([{ provider: "unlisted", closed: "2026-01-10T01:00Z", cost: 1n }]);
    const closeUnlisted = (until: string) => {
      const due = { listed: new Map(), providerId: "unlisted", untilMs: Date.parse(until) };
      return backend.settlementStore.closeDuePeriods(due, testOperator);
    };
    expect(await closeUnlisted("2026-01-31T00:00Z")).toMatchObject({ closed: [], unlisted: [] });
    const first = await closeUnlisted("2026-02-01T00:00Z");
    expect(first.closed[0]?.period).toMatchObject({ mode: "arrears", interval: "monthly" });
    expect(first.unlisted).toEqual([{ providerId: "unlisted", termsFrom: "default" }]);
    await journal.write([{ provider: "unlisted", closed: "2026-02-10T01:00Z", cost: 1n }]);
    const second = await closeUnlisted("2026-03-01T00:00Z");
    expect(second.unlisted).toEqual([{ providerId: "unlisted", termsFrom: "last_period" }]);
  });

  test("closes no period that is not over, even when it is asked for a time in the future", async () => {
    await journal.write([{ provider: "today", cost: 1n }]);
    const far = new Date(Date.now() + 90 * 86_400_000).toISOString();
    expect(await closeUntil(backend, far, { id: "today", every: "monthly" })).toEqual([]);
  });
});
