import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import { quickOrDeep } from "../support/depth.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { DAYS, requestSpec, rollAll, UsageJournal } from "../support/usage-journal.ts";

let member: Membership;

const backend = withPricedBackend();

beforeAll(async () => {
  member = await backend.ledgerBatchStore.join("figures", 3_600_000);
});

const RUNS = quickOrDeep(2, 40);

/** As the plainest reading of the rows has it, beside the sums of days: rows that differ. */
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
    from listing_day_sum
  )
  (select 'plain' as from, * from plain except all select 'plain', * from summed)
  union all
  (select 'summed', * from summed except all select 'summed', * from plain)`;

test("sums of days are each closed attempt once, whenever it ends, and one is not lost by a restart", async () => {
  const journal = await UsageJournal.make(backend, member);
  await fc.assert(
    fc.asyncProperty(fc.array(requestSpec, { minLength: 1, maxLength: 12 }), async (specs) => {
      await journal.write(specs);
      await rollAll(backend);
      await journal.endLate();
      // Ended in the middle, it is simply done again.
      await backend.usageRollup.rollSome();
      await rollAll(backend);
      const last = journal.dayOf(DAYS - 3);
      expect(await backend.query(DIFFERING_DAYS_SQL, [last])).toEqual([]);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
