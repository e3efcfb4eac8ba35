import { beforeAll, expect, test } from "vitest";

import type { ListingTraffic } from "../../src/gateway/records/listing-traffic.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import { withPricedBackend } from "../support/postgres.ts";
import {
  DAYS,
  MODELS,
  PROVIDERS,
  type RequestSpec,
  rollAll,
  UsageJournal,
} from "../support/usage-journal.ts";

let member: Membership;

const backend = withPricedBackend();

beforeAll(async () => {
  member = await backend.ledgerBatchStore.join("traffic", 3_600_000);
});

const settled = {
  end: "settled",
  late: false,
  provider: 0,
  cost: 5,
  firstByteMs: 9,
  nextDay: false,
};

function request(change: Partial<RequestSpec>, attempt: object = {}): RequestSpec {
  const attempts = [{ ...settled, ...attempt }] as RequestSpec["attempts"];
  return { org: 0, key: 0, model: 0, day: 0, atMs: 1, refused: false, attempts, ...change };
}

/** As the plainest reading of the rows has it: each request with its last attempt. */
async function plainTraffic(providerId: string, fromDay: string): Promise<readonly object[]> {
  const rows = await backend.query(
    `select org_id, model_id, sum(prompt)::int as prompt, sum(completion)::int as completion,
      coalesce(sum(hour), 0)::int as hour
    from (
      select org_id, model_id, sum(prompt) as prompt, sum(completion) as completion,
        sum(cache_write_1h) as hour, max(attempt_id) as attempt_id,
        (array_agg(provider_id order by ordinal desc))[1] as provider_id
      from attempt group by org_id, model_id, request_id
    ) request
    where provider_id = $1 and prompt is not null and attempt_day(attempt_id) >= $2::date
    group by 1, 2 order by 1, 2`,
    [providerId, fromDay],
  );
  return rows.map((row) => ({ ...row }));
}

function plain(rows: readonly ListingTraffic[]): readonly object[] {
  return rows.map(({ orgId, modelId, usage }) => ({
    org_id: orgId,
    model_id: modelId,
    prompt: usage.prompt,
    completion: usage.completion,
    hour: usage.cacheWrite1h ?? 0,
  }));
}

test("the tokens of a provider are each request's once, whether days are summed up, stale or open", async () => {
  const journal = await UsageJournal.make(backend, member);
  const specs = Array.from({ length: DAYS }, (_, day) => [
    request({ day }),
    request({ day, org: 1, model: 1 }),
    request({ day, model: 1 }, { provider: 1 }),
    request({ day, key: 2 }, { late: true }),
    // A request of two days counts in the later one.
    request({ day, attempts: [settled, { ...settled, nextDay: true }] as never }),
    // A request of two providers counts at the later one.
    request({ day, attempts: [{ ...settled, provider: 1 }, settled] as never }),
    request({ day }, { end: "void" }),
  ]).flat();
  await journal.write(specs);
  const [providerId] = PROVIDERS as [string];
  const expectSame = async (fromDay: string): Promise<void> => {
    const found = await backend.listingTraffic({ providerId, fromDay });
    expect(plain(found)).toEqual(await plainTraffic(providerId, fromDay));
    expect(found.map(({ modelId }) => modelId).toSorted()).toEqual(MODELS.toSorted());
  };
  await expectSame(journal.dayOf(0));
  // A day whose rollup has begun counts only once the rollup is complete.
  const begun = journal.dayOf(1);
  await backend.query("insert into usage_day (day) values ($1)", [begun]);
  await expectSame(journal.dayOf(0));
  await backend.query("delete from usage_day where day = $1", [begun]);
  await rollAll(backend);
  const sums = await backend.query("select count(*)::int as n from usage_sum");
  expect(Number(sums[0]?.["n"])).toBeGreaterThan(0);
  await expectSame(journal.dayOf(0));
  await expectSame(journal.dayOf(2));
  // An end now makes sums stale until they are made again.
  await journal.endLate();
  await expectSame(journal.dayOf(0));
  await rollAll(backend);
  await expectSame(journal.dayOf(0));
  await expectSame(journal.dayOf(DAYS - 1));
  expect(await backend.listingTraffic({ providerId: "nobody", fromDay: journal.dayOf(0) })).toEqual(
    [],
  );
});
