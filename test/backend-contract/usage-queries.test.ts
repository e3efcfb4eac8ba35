import { describe, expect, onTestFinished, test } from "vitest";
import {
  createRequestId,
  type AttemptId,
  type KeyId,
  type OrgId,
  type RequestId,
} from "../../src/kernel/core/ids.ts";
import { REFUSALS } from "../../src/kernel/core/refusals.ts";
import { ATTEMPT_OUTCOMES, toRequestStatus } from "../../src/kernel/core/request-status.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { statusOfEndSql } from "../../src/gateway/records/request-rows.ts";
import { ReportTimeout } from "../../src/gateway/records/report-sources.ts";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { until } from "../support/books.ts";
import { closeRow, keyOf, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import {
  withOtherBackend,
  withPricedBackend,
  type FreshBackend,
  withMember,
} from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { rollAll, UsageJournal, type RequestSpec } from "../support/usage-journal.ts";
import { openTransaction } from "../support/sql.ts";

const DAY_MS = 86_400_000;

const backend = withPricedBackend();
/** The same database, opened by another process. */
const elsewhere = withOtherBackend(backend);
const member = withMember(backend);

const ended = { late: false, provider: 0, firstByteMs: 20, nextDay: false } as const;
const settled = { ...ended, end: "settled" } as const;
const request = { org: 0, key: 0, model: 0, atMs: 7_200_000, refused: false } as const;

function spec(
  day: number,
  change: Partial<RequestSpec> & { readonly cost?: number } = {},
): RequestSpec {
  const { cost = 10, ...rest } = change;
  return { ...request, day, attempts: [{ ...settled, cost }], ...rest };
}

async function journalOf(...specs: readonly RequestSpec[]) {
  const journal = await UsageJournal.make(backend, member);
  await journal.write(specs);
  const orgId = journal.orgs[0]?.orgId as OrgId;
  const range = { orgId, fromMs: journal.startOf(0), toMs: journal.startOf(0) + 7 * DAY_MS };
  const spentMicroUsd = async (): Promise<bigint> =>
    (await backend.usageReports.report(range, "day")).totals.debitMicroUsd;
  return { journal, orgId, range, spentMicroUsd };
}

describe("a report that takes too long", () => {
  test("ends in a timeout and frees its connection", async () => {
    const { range } = await journalOf(spec(0));
    const slow = openPostgresBackend({
      connectionString: backend.connectionString,
      log: silentLog,
      reportTimeoutMs: 150,
    });
    const lock = "lock table refused_request in access exclusive mode";
    const blocker = await openTransaction(backend, lock);
    onTestFinished(() => slow.close());
    onTestFinished(() => blocker.end());
    const queries = Array.from({ length: 7 }, () => slow.usageReports.report(range, "model"));
    for (const query of await Promise.allSettled(queries)) {
      expect(query.status === "rejected" && query.reason).toBeInstanceOf(ReportTimeout);
    }
    const walk = slow.usageReports.everyRequest(range)[Symbol.asyncIterator]();
    await expect(walk.next()).rejects.toBeInstanceOf(ReportTimeout);
    await blocker.query("rollback");
    // Under load even a quick report can exceed this backend's time limit, so the test retries.
    const seen = await until("a report succeeds", () =>
      slow.usageReports.report(range, "model").catch(() => undefined),
    );
    expect(seen.totals.requests).toBe(1);
  });

  test("does not use the gateway's connections, as reports have at most three of their own", async () => {
    const { range } = await journalOf(spec(0));
    await backend.usageReports.report(range, "model");
    const rows = await backend.query(
      `select count(*)::integer as n from pg_stat_activity
      where application_name = 'tokenmarket-console' and datname = current_database()`,
    );
    expect(rows[0]?.["n"]).toBeGreaterThan(0);
    expect(rows[0]?.["n"]).toBeLessThanOrEqual(3);
  });
});

describe("the summing of days", () => {
  test("changes no figure when its connection is cut, and completes when it is run again", async () => {
    const { spentMicroUsd, orgId } = await journalOf(spec(0), spec(1, { cost: 5 }));
    const blocker = await openTransaction(backend, "lock table usage_rolled in exclusive mode");
    const rolling = rollAll(backend).then(
      () => "done",
      () => "cut off",
    );
    const pid = await until("the roll waits", async () => {
      const rows = await backend.query(
        `select pid from pg_locks where relation = 'usage_rolled'::regclass and not granted`,
      );
      return rows[0]?.["pid"];
    });
    await backend.query("select pg_terminate_backend($1)", [pid]);
    expect(await rolling).toBe("cut off");
    expect(await spentMicroUsd()).toBe(15n);
    await blocker.end();
    await until("another may roll", async () => {
      await rollAll(backend);
      const done = await backend.query("select from usage_rolled where org_id = $1", [orgId]);
      return done.length === 2 ? true : undefined;
    });
    expect(await spentMicroUsd()).toBe(15n);
  });

  test("misses nothing that commits while it runs", async () => {
    const { spentMicroUsd, orgId, journal } = await journalOf(
      spec(0),
      spec(0, { attempts: [{ ...settled, end: "open", cost: 0 }] }),
    );
    await rollAll(backend);
    await journal.write([spec(0, { cost: 3 })]);
    expect(await spentMicroUsd()).toBe(13n);
    const closing = await openTransaction(
      backend,
      `with ended as (delete from hold where org_id = $1 returning *)
      insert into attempt select (jsonb_populate_record(null::attempt, to_jsonb(e)
        || jsonb_build_object('state', 'settled', 'outcome', 'completed', 'debit', 100, 'overrun', 0,
          'final', true, 'closed_at', now(), 'closed_position', 1, 'first_byte_ms', 5))).*
      from ended e`,
      [orgId],
    );
    // Sums the day again because of the attempt that cost 3, before the closing has committed.
    await rollAll(backend);
    expect(await spentMicroUsd()).toBe(13n);
    await closing.query("commit");
    await closing.end();
    expect(await spentMicroUsd()).toBe(113n);
    await rollAll(backend);
    expect(await spentMicroUsd()).toBe(113n);
  });

  test("counts the attempts of a request over midnight each in its own day", async () => {
    const attempts = [
      { ...settled, cost: 5 },
      { ...settled, nextDay: true, cost: 7 },
    ];
    const { journal, orgId } = await journalOf(spec(0, { attempts }));
    await rollAll(backend);
    const rolled = `select to_char(day, 'YYYY-MM-DD') as day, debit::integer as debit
      from usage_rolled where org_id = $1 order by day`;
    expect(await backend.query(rolled, [orgId])).toEqual([
      { day: journal.dayOf(0), debit: 5 },
      { day: journal.dayOf(1), debit: 7 },
    ]);
  });

  test("counts a request over midnight once while an attempt of it is open", async () => {
    const open = { ...ended, end: "open", cost: 0 } as const;
    const failed = { ...ended, end: "void", cost: 0 } as const;
    const { range, orgId, journal } = await journalOf(
      spec(0, { attempts: [failed, { ...open, nextDay: true }] }),
      spec(2),
      spec(2, { attempts: [open] }),
    );
    const statuses = async (): Promise<unknown> => {
      const { groups } = await backend.usageReports.report(range, "status");
      return Object.fromEntries(groups.map(({ group, figures }) => [group, figures.requests]));
    };
    await rollAll(backend);
    expect(await statuses()).toEqual({ in_flight: 2, succeeded: 1 });

    const held = "select request_id, key_id from hold where org_id = $1 and ordinal = 1";
    const [first] = await backend.query(held, [orgId]);
    const startOfIds = BigInt(journal.startOf(3) - Date.UTC(2025, 0, 1)) << 22n;
    const attemptId = (startOfIds + 999_999n) as AttemptId;
    const keyId = first?.["key_id"] as KeyId;
    const requestId = first?.["request_id"] as RequestId;
    const row = reserveRow({ orgId, keyId, attemptId }, 1_000n, { requestId, ordinal: 2 });
    await backend.ledgerBatchStore.hold(member, row);
    await backend.ledgerBatchStore.closeBatch([closeRow(attemptId, 7n)]);
    await rollAll(backend);
    expect(await statuses()).toEqual({ in_flight: 2, succeeded: 1 });
  });

  test("gives each outcome and error class the status that a single request with them has", async () => {
    const ends = ATTEMPT_OUTCOMES.flatMap((outcome) =>
      [null, "usage_impossible", ...Object.keys(REFUSALS)].map((errorClass) => ({
        end: `${outcome}/${errorClass ?? ""}`,
        status: toRequestStatus({ attempts: 1, outcome, errorClass }),
      })),
    );
    const found = await backend.query(
      `select e as end, ${statusOfEndSql("e")} as status from unnest($1::text[]) as e`,
      [ends.map(({ end }) => end)],
    );
    expect(found).toEqual(ends);
  });

  test("is done by one process at a time, and leaves out today", async () => {
    const { journal, orgId } = await journalOf(spec(0), spec(5));
    await Promise.all([rollAll(backend), rollAll(elsewhere as FreshBackend)]);
    await rollAll(backend);
    const days = await backend.query(
      "select to_char(day, 'YYYY-MM-DD') as day from usage_rolled where org_id = $1",
      [orgId],
    );
    expect(days).toEqual([{ day: journal.dayOf(0) }]);
  });
});

test("a request shows every attempt with its tokens, outcome, cost and pinned prices", async () => {
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 100_000n });
  const createdAtMs = Date.UTC(2026, 3, 10, 12);
  const requestId = createRequestId(createdAtMs);
  const [first, second] = [71n as AttemptId, 72n as AttemptId];
  const { ledgerBatchStore, recordStore, usageReports } = backend;
  const shown = () => recordStore.generation(orgId, requestId);
  const row = reserveRow({ orgId, keyId, attemptId: first }, 1_000n, { requestId });
  await ledgerBatchStore.hold(member, row);
  const failed = { final: false, startedAtMs: createdAtMs + 5 };
  await ledgerBatchStore.closeBatch([voidRow(first, failed)]);
  const more = { attemptId: second, ordinal: 2, stream: true, pricePinId: "gone" };
  await ledgerBatchStore.hold(member, { ...row, ...more });
  expect(await shown()).toMatchObject({ outcome: "in_flight", createdAtMs });
  const done = { startedAtMs: createdAtMs + 40 };
  await ledgerBatchStore.closeBatch([closeRow(second, 320n, done)]);
  const common = {
    providerId: "acme-ai",
    upstreamModelId: "small-2026",
    durationMs: 34,
    served: null,
    answered: {},
    reserveMicroUsd: 1_000n,
  };
  expect(await shown()).toEqual({
    requestId,
    keyId,
    modelId: "acme/small",
    route: "/v1/chat/completions",
    stream: false,
    createdAtMs,
    outcome: "completed",
    attempts: [
      {
        ...common,
        ordinal: 1,
        startedAtMs: createdAtMs + 5,
        firstByteMs: null,
        outcome: "failed",
        upstreamStatus: 500,
        errorClass: "upstream_error",
        usage: null,
        debitMicroUsd: 0n,
        basis: "none",
        sheet: { pinId: "pin-1", abovePromptTokens: 0 },
        prices: {
          prompt: 1n,
          cachedPrompt: 1n,
          cacheWrite: 1n,
          completion: 10_000_000_000_000n,
          internalReasoning: 1n,
        },
      },
      {
        ...common,
        ordinal: 2,
        startedAtMs: createdAtMs + 40,
        firstByteMs: 12,
        outcome: "completed",
        upstreamStatus: 200,
        errorClass: null,
        usage: { prompt: 11, cachedPrompt: 3, cacheWrite: 2, completion: 7, internalReasoning: 5 },
        debitMicroUsd: 320n,
        basis: "reported",
        sheet: { pinId: "gone", abovePromptTokens: 0 },
        prices: null,
      },
    ],
  });
  const sums = { attempts: 2, outcome: "completed", debitMicroUsd: 320n };
  const reported = (await usageReports.request(orgId, requestId))?.request;
  expect(reported).toMatchObject({ ...sums, firstByteMs: 12, durationMs: 68 });
  expect(await backend.creditStore.ledgerEntries(orgId)).toMatchObject([
    { kind: "settle", ref: requestId, detail: "acme/small", amountMicroUsd: -320n },
    { kind: "grant", ref: `start ${orgId}`, detail: null, amountMicroUsd: 100_000n },
  ]);
});

test("only a request that succeeded counts as a first success", async () => {
  const failed = spec(2, { attempts: [{ ...settled, end: "void", cost: 0 }] });
  const { journal, orgId } = await journalOf(failed, spec(2, { attempts: [] }));
  expect(await backend.usageReports.firstSuccess(orgId)).toBeUndefined();
  await journal.write([failed, spec(2, { cost: 1 })]);
  const found = await backend.usageReports.firstSuccess(orgId);
  const reported = found && (await backend.usageReports.request(orgId, found));
  expect(reported).toMatchObject({ request: { status: "succeeded" } });
});

test("a request whose client left before dispatch counts as cancelled", async () => {
  const { range } = await journalOf(spec(2, { attempts: [] }), spec(2, { key: 1, attempts: [] }));
  const byStatus = { rejected_by_gateway: 1, cancelled: 1, failed: 0 };
  const { totals } = await backend.usageReports.report(range, "status");
  expect(totals).toMatchObject({ requests: 2, byStatus });
  const cancelled = { ...range, statuses: ["cancelled"] as const };
  const left = await backend.usageReports.requests(cancelled, { limit: 5 });
  expect(left.rows.map(({ status, errorClass }) => [status, errorClass])).toEqual([
    ["cancelled", "client_left"],
  ]);
  const refused = { ...range, statuses: ["rejected_by_gateway"] as const };
  expect((await backend.usageReports.requests(refused, { limit: 5 })).rows).toHaveLength(1);
  // No refused request has a provider, and no other request has this status.
  const none = { ...refused, providerIds: ["a"] };
  expect((await backend.usageReports.requests(none, { limit: 5 })).rows).toEqual([]);
});

describe("a key", () => {
  test("reports the time of its last use, before and after its days are summed", async () => {
    const { journal, orgId } = await journalOf(
      spec(0, { key: 0 }),
      spec(3, { key: 0 }),
      spec(2, { key: 1, attempts: [] }),
    );
    const [used, refused] = journal.orgs[0]?.keys ?? [];
    const unused = await keyOf(backend, orgId);
    const activity = async () => {
      const keys = await backend.usageReports.keyActivity(orgId);
      return new Map(keys.map((key) => [key.keyId, key]));
    };
    const before = await activity();
    expect(new Set(before.keys())).toEqual(new Set([used, refused, unused]));
    // The last use is the time of the attempt, which this journal dates to midnight.
    expect(before.get(used as never)).toMatchObject({ lastUsedAtMs: journal.startOf(3) });
    expect(before.get(refused as never)).toMatchObject({
      lastUsedAtMs: journal.startOf(2) + request.atMs,
    });
    expect(before.get(unused)).toMatchObject({ lastUsedAtMs: null, spentMonthMicroUsd: 0n });
    expect(before.get(used as never)?.spentMonthMicroUsd).toBe(20n);
    await rollAll(backend);
    expect(await activity()).toEqual(before);
  });

  test("reports its days, including empty ones, oldest first", async () => {
    const { journal, orgId } = await journalOf(spec(5, { cost: 4 }), spec(3, { cost: 6 }));
    const keyId = journal.orgs[0]?.keys[0] as never;
    expect(await backend.usageReports.keyDays(orgId, keyId, 4)).toEqual([
      { day: journal.dayOf(2), requests: 0, debitMicroUsd: 0n },
      { day: journal.dayOf(3), requests: 1, debitMicroUsd: 6n },
      { day: journal.dayOf(4), requests: 0, debitMicroUsd: 0n },
      { day: journal.dayOf(5), requests: 1, debitMicroUsd: 4n },
    ]);
  });
});

test("groups beyond the maximum of a report are summed as other", async () => {
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 0n });
  const nowMs = systemClock.nowMs();
  const refused = Array.from({ length: 230 }, (_, at) => ({
    requestId: createRequestId(nowMs),
    orgId,
    keyId,
    modelId: `model/${at}`,
    route: "/v1/chat/completions",
    stream: false,
    errorClass: "model_not_found" as never,
    // The requests are spread over minutes, because each minute keeps a limited number of rows.
    createdAtMs: nowMs - (at % 4) * 60_000,
  }));
  await backend.ledgerBatchStore.recordRefusedBatch(refused, []);
  const range = { orgId, fromMs: nowMs - DAY_MS / 4, toMs: nowMs + DAY_MS / 4 };
  const report = await backend.usageReports.report(range, "model");
  expect(report.groups).toHaveLength(200);
  const other = report.groups.find(({ group }) => group === "other");
  expect(other?.figures.requests).toBe(31);
  const parts = report.series.find(({ parts: { size } }) => size > 0)?.parts;
  expect(parts?.size).toBe(8);
  expect(parts?.get("other")?.requests).toBe(223);
});

describe("a provider's day over all customers", () => {
  /** Adds attempts of new organizations, each with its number of successes and failures. */
  async function attemptsAt(
    name: string,
    orgs: readonly {
      readonly done: number;
      readonly failed?: number;
      readonly blamed?: number;
      /** The number of finished requests that another model answered. */
      readonly other?: number;
    }[],
  ) {
    const [now] = await backend.query("select attempt_id_at(now())::text as id");
    let next = BigInt(String(now?.["id"])) + BigInt(name.length) * 10_000n;
    for (const { done, failed = 0, blamed = 0, other = 0 } of orgs) {
      const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
      const ids = Array.from({ length: done + failed + blamed }, () => next++ as AttemptId);
      const rows = ids.map((attemptId) =>
        reserveRow({ ...org, attemptId }, 10n, { providerId: name as never }),
      );
      await backend.ledgerBatchStore.hold(member, ...rows);
      const close = (attemptId: AttemptId, at: number) => {
        const served = { name: at < other ? "other" : "own", isSubstituted: at < other };
        if (at < done) return closeRow(attemptId, 1n, { firstByteMs: 40, served });
        if (at < done + failed) return voidRow(attemptId, { outcome: "timeout" });
        return voidRow(attemptId, { outcome: "failed", errorClass: "content_policy" as never });
      };
      await backend.ledgerBatchStore.closeBatch(ids.map(close));
    }
    const all = await backend.usageReports.providerActivity();
    return all.find(({ providerId }) => providerId === name);
  }

  test("counts calls that the provider failed, not those that it refused for their content", async () => {
    const even = { done: 60, failed: 10, blamed: 5 };
    expect(await attemptsAt("busy", [even, even, even])).toEqual({
      providerId: "busy",
      attempts: 210,
      succeeded: 180,
      firstByteP50Ms: null,
    });
    const good = { done: 70 };
    expect(await attemptsAt("busier", [good, good, good])).toMatchObject({
      succeeded: 210,
      firstByteP50Ms: 40,
    });
  });

  const half = { done: 140, other: 70 };
  test.each([
    ["three organizations", "swaps", [half, half, half], 0.5],
    ["two organizations", "swaps-of-two", [half, { done: 280, other: 140 }], null],
    ["two of three organizations", "swaps-of-one", [{ ...half, other: 0 }, half, half], null],
    ["fewer than 200 substitutions", "swaps-few", [{ ...half, other: 59 }, half, half], null],
    ["mostly for one customer", "swaps-mostly", [{ done: 300, other: 141 }, half, half], null],
    ["most answers for one customer", "swaps-busy", [{ done: 281, other: 70 }, half, half], null],
    ["a single answer", "swaps-once", [{ done: 1, other: 1 }], null],
  ])(
    "names the substituted model, with its share only when it reveals no organization: %s",
    async (_what, name, orgs, share) => {
      await attemptsAt(name, orgs);
      const all = await backend.usageReports.substitutions();
      const found = all.filter(({ providerId }) => providerId === name);
      expect(found).toEqual([expect.objectContaining({ servedModel: "other", share })]);
    },
  );

  test.each([
    ["of two organizations", "two-orgs", [{ done: 100 }, { done: 100 }]],
    ["of fewer than 200 calls", "few-calls", [{ done: 66 }, { done: 66 }, { done: 67 }]],
    ["mostly of one organization", "one-large", [{ done: 101 }, { done: 50 }, { done: 50 }]],
  ])("%s is not shown", async (_what, name, orgs) => {
    expect(await attemptsAt(name, orgs)).toBeUndefined();
  });
});
