import * as fc from "fast-check";
import { expect, test } from "vitest";

import type { AttemptId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { computeFigures } from "../../src/gateway/records/listing-figures.ts";
import { FOLD_HOUR_SQL } from "../../src/gateway/records/listing-sums-sql.ts";
import { quickOrDeep } from "../support/depth.ts";
import {
  closeRow,
  marginPinOf,
  orgWithKey,
  pinMargin,
  reserveRow,
  usageOwing,
  voidRow,
} from "../support/ledger-rows.ts";
import { withPricedBackend, withMember } from "../support/postgres.ts";
import {
  DAY_MS,
  DAYS,
  type RequestSpec,
  requestSpec,
  rollAll,
  UsageJournal,
} from "../support/usage-journal.ts";

const backend = withPricedBackend();
const member = withMember(backend);

/** Shared by both attempts of `LATE`: one ends before its day is first summed up, one after. */
const ENDED = { late: false, provider: 0, cost: 5, firstByteMs: 9, nextDay: false } as const;
const REQUEST = { org: 0, key: 0, model: 0, day: 1, atMs: 1, refused: false };
const LATE: RequestSpec = {
  ...REQUEST,
  attempts: [
    { ...ENDED, end: "void" },
    { ...ENDED, end: "settled", late: true },
  ],
};
const RUNS = quickOrDeep(2, 40);

/** Rows in which the sums of days differ from a plain sum over the attempts. */
const DIFFERING_DAYS_SQL = `
  with plain as (
    select org_id, attempt_day(attempt_id) as day, provider_id, model_id, count(*) as attempts,
      count(*) filter (where outcome = 'completed') as succeeded,
      count(*) filter (where outcome in ('failed', 'timeout', 'reset', 'stream_died')) as failed,
      count(distinct case when outcome = 'completed'
        then date_trunc('hour', to_timestamp((attempt_id >> 22) / 1000)) end) as up_hours
    from attempt where state <> 'open' and attempt_day(attempt_id) <= $1::date
    group by 1, 2, 3, 4
  ), summed as (
    select org_id, day, provider_id, model_id, attempts, succeeded, failed,
      bit_count(up_hours::bit(24))::bigint as up_hours
    from listing_day_sum where day <= $1::date
  )
  (select 'plain' as from, * from plain except all select 'plain', * from summed)
  union all
  (select 'summed', * from summed except all select 'summed', * from plain)`;

test("daily sums count each closed attempt once, even if it ends late or the summing restarts", async () => {
  const journal = await UsageJournal.make(backend, member);
  await fc.assert(
    fc.asyncProperty(fc.array(requestSpec, { minLength: 1, maxLength: 12 }), async (specs) => {
      await journal.write(specs);
      await rollAll(backend);
      await journal.endLate();
      // First sums only a part, as if the process were restarted before the rest.
      await backend.usageRollup.rollSome();
      await rollAll(backend);
      const last = journal.dayOf(DAYS - 3);
      expect(await backend.query(DIFFERING_DAYS_SQL, [last])).toEqual([]);
    }),
    { numRuns: RUNS, endOnFailure: true, examples: [[[LATE]]] },
  );
});

let seeded = 0;

/** Writes `count` closed attempts of an organization at one listing, in one hour of a day. */
async function seed(
  { org, day, model, count }: { org: string; day: string; model: string; count: number },
  { failed = 0, hour = 7, stream = true } = {},
): Promise<void> {
  await backend.query("select ensure_attempt_partition($1)", [day]);
  seeded += 1;
  await backend.query(
    `insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
      month, state, outcome, prompt, cached_prompt, cache_write, completion, internal_reasoning,
      cost_pico, final, started_at, first_byte_ms, duration_ms, opened_position, closed_position,
      created_at, closed_at)
    select attempt_id_at($2::date::timestamp at time zone 'utc' + make_interval(hours => $5, secs => $8))
        + n, gen_random_uuid(), 1, $1, 'key', $3, 'seeded-ai', 'm', 'pin', '/v1', $7, 'i', 1, 1, 1,
      date_trunc('month', $2::date), 'settled', case when n <= $6 then 'failed' else 'completed' end,
      1, 0, 0, 50, 0, 0, true, now(), case when n % 2 = 0 then 20 else 30 end,
      case when n % 2 = 0 then 520 else 530 end, 1, 2, now(), now()
    from generate_series(1, $4::integer) n`,
    [org, day, model, count, hour, failed, stream, seeded],
  );
}

const TODAY = Math.floor(systemClock.nowMs() / DAY_MS);

/** The midnight `ago` days before the day on which this file began, in milliseconds. */
function dayMs(ago: number): number {
  return (TODAY - ago) * DAY_MS;
}

function isoDay(ago: number): string {
  return new Date(dayMs(ago)).toISOString().slice(0, 10);
}

test("an organization reads only its own figures: past days from daily sums, today from hourly sums", async () => {
  const day = isoDay(3);
  await seed({ org: "own", day, model: "own/m", count: 10 }, { failed: 2 });
  await seed({ org: "own", day, model: "own/m", count: 2 }, { failed: 2, hour: 9 });
  await seed({ org: "own", day, model: "own/m", count: 8 }, { hour: 10, stream: false });
  await seed({ org: "other", day, model: "own/m", count: 50 });
  await rollAll(backend);
  // Adds the sums of one hour of today, a day for which there are no other sums yet.
  await backend.query(
    `insert into listing_hour_sum values ('own', date_trunc('day', now() at time zone 'utc')
      at time zone 'utc', 'seeded-ai', 'own/m', 4, 4, 0, 4, 400, 1000, '{20}', '{4}')
    on conflict do nothing`,
  );
  const filter = { orgId: "own" as OrgId, modelId: "own/m" };
  const from = { dayMs: dayMs(29), hourMs: dayMs(1) };
  const { days, hours } = await backend.listingFigures.own(filter, from);
  expect(days.map(({ fromMs }) => fromMs)).toEqual([dayMs(3), dayMs(0)]);
  expect(hours.map(({ fromMs }) => fromMs)).toEqual([dayMs(0)]);
  expect(computeFigures(days.slice(0, 1))).toEqual({
    calls: 20,
    success: 0.8,
    uptime: 2 / 3,
    firstTokenP50Ms: 20,
    firstTokenP95Ms: 30,
    tokensPerSecond: 100,
  });
  expect(computeFigures(days).calls).toBe(24);
});

test("a day's figures are published only if they reveal no organization, and then never change", async () => {
  const day = isoDay(12);
  const each = async (model: string, counts: readonly number[], stream = true): Promise<void> => {
    for (const [at, count] of counts.entries()) {
      await seed({ org: `org-${at}`, day, model, count }, { stream });
    }
  };
  await each("p/shown", [100, 60, 40]);
  await each("p/two", [100, 100]);
  await each("p/few", [80, 60, 59]);
  await each("p/one-has-most", [201, 100, 100]);
  await each("p/streams-of-one", [10, 0, 0]);
  await each("p/streams-of-one", [90, 100, 100], false);
  await rollAll(backend);
  const shown = async (): Promise<Record<string, readonly number[]>> =>
    Object.fromEntries(
      (await backend.listingFigures.published(dayMs(29)))
        .filter(({ modelId }) => modelId.startsWith("p/"))
        .map((sums) => [sums.modelId, [sums.succeeded, sums.streamed, sums.firstBytes.size]]),
    );
  const first = { "p/shown": [200, 200, 2], "p/streams-of-one": [300, 0, 0] };
  expect(await shown()).toEqual(first);
  // An attempt that ends later counts in its organization's sums but not in the published ones.
  await seed({ org: "org-0", day, model: "p/shown", count: 7 });
  await rollAll(backend);
  const own = { orgId: "org-0" as OrgId, modelId: "p/shown" };
  const { days } = await backend.listingFigures.own(own, { dayMs: dayMs(29), hourMs: dayMs(1) });
  expect(computeFigures(days).calls).toBe(107);
  expect(await shown()).toEqual(first);
});

test("daily sums older than a month are deleted", async () => {
  await backend.query(
    "insert into listing_day_sum select 'late', current_date - 40, 'p', 'm', 1, 1, 0, 1, 1, 0, 0, 0, '{}', '{}'",
  );
  await rollAll(backend);
  expect(await backend.query("select from listing_day_sum where org_id = 'late'")).toEqual([]);
});

test("listings that lost money are reported, and those that earned money are not", async () => {
  const [cheap, dear] = ["earning" as ProviderId, "losing" as ProviderId];
  const { ledgerBatchStore: store } = backend;
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  let attemptId = 0n as AttemptId;
  for (const [providerId, cost, owed] of [
    [cheap, 90_000_000n, 60_000_000n],
    [dear, 10_000_000n, 12_999_999n],
    [dear, 10_000_000n, 15_000_000n],
  ] as const) {
    await pinMargin(backend, providerId);
    attemptId = (attemptId + 1n) as AttemptId;
    const change = { providerId, pricePinId: marginPinOf(providerId) };
    await store.hold(member, reserveRow({ ...org, attemptId }, 100n, change));
    const owes = { usage: usageOwing(owed), owedPicoUsd: picoUsd(owed) };
    await store.closeBatch([closeRow(attemptId, 0n, { costPicoUsd: picoUsd(cost), ...owes })]);
  }
  expect(await backend.listingLosses(5_000)).toEqual([]);
  // These attempts have ids of 1 January 2025, whose hours are summed up only by this call.
  await backend.query(FOLD_HOUR_SQL, [0, 1n << 50n]);
  const losses = (await backend.listingLosses(5_000)).filter(({ providerId }) =>
    [String(cheap), String(dear)].includes(providerId),
  );
  expect(losses).toEqual([
    { providerId: dear, modelId: expect.any(String) as string, attempts: 2, lostMicroUsd: 7n },
  ]);
  expect(await backend.listingLosses(7)).toEqual([]);
});

test("a void attempt owes its provider nothing", async () => {
  const { ledgerBatchStore: store } = backend;
  const org = await orgWithKey(backend, { creditMicroUsd: 100n });
  const [providerId, attemptId] = ["void" as ProviderId, 9n as AttemptId];
  await pinMargin(backend, providerId);
  const change = { providerId, pricePinId: marginPinOf(providerId) };
  await store.hold(member, reserveRow({ ...org, attemptId }, 100n, change));
  await store.closeBatch([voidRow(attemptId)]);
  const sql = "select debit, owed_pico, cache_write_1h from attempt where attempt_id = $1";
  expect(await backend.query(sql, [attemptId])).toEqual([
    { debit: "0", owed_pico: null, cache_write_1h: null },
  ]);
});
