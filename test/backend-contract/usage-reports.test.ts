import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createRequestId, type KeyId } from "../../src/kernel/core/ids.ts";
import { REQUEST_STATUSES, type RequestStatus } from "../../src/kernel/core/request-status.ts";
import { requestIdFrom } from "../../src/ledger/attempt-columns.ts";
import type { UsageQuery } from "../../src/gateway/records/record-rows.ts";
import type {
  ReportGroupBy,
  ReportRank,
  UsageReport,
} from "../../src/gateway/records/report-query.ts";
import type {
  ReportedRequest,
  RequestSort,
  RequestSortBy,
} from "../../src/gateway/records/request-pages.ts";
import type { ReportFilter } from "../../src/gateway/records/request-rows.ts";
import { quickOrDeep } from "../support/depth.ts";
import { withPricedBackend, withMember } from "../support/postgres.ts";
import {
  DAY_MS,
  DAYS,
  KEYS,
  MODELS,
  PROVIDERS,
  requestSpec,
  rollAll,
  UsageJournal,
  type JournalOrg,
} from "../support/usage-journal.ts";
import {
  exactOf,
  figuresOf,
  groupOf,
  matches,
  offBy,
  readRequests,
  type ModelRequest,
} from "../support/usage-model.ts";

const GROUPINGS: readonly ReportGroupBy[] = ["model", "key", "provider", "day", "status"];
const STATUSES = Object.keys(REQUEST_STATUSES) as RequestStatus[];
const HOUR_MS = 3_600_000;
const RUNS = Number(process.env["PROPERTY_RUNS"] ?? quickOrDeep(2, 15));
const WRONG_HOURS_SQL =
  "select cache_write, cache_write_1h from usage_sum where cache_write <> 2 * cache_write_1h";
/** The largest relative error of a percentile, which is reported as the middle of a span. */
const PERCENTILE_OFF_MAX = 0.032;

const backend = withPricedBackend();
const member = withMember(backend);

/** Some members of a list; most often none, which means no filter. */
function someOf<T>(list: readonly T[]): fc.Arbitrary<readonly T[]> {
  const some = fc.subarray([...list], { minLength: 1, maxLength: Math.min(3, list.length) });
  return fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: some });
}

const filterSpec = fc.record({
  from: fc.integer({ min: -DAY_MS / 2, max: DAYS * DAY_MS }),
  hours: fc.constantFrom(1, 3, 30, 48, 49, 72, 100, 24 * DAYS, 24 * (DAYS + 2)),
  models: someOf(MODELS),
  providers: someOf(PROVIDERS),
  /** Indexes in the organization's list of keys. */
  keys: someOf(Array.from({ length: KEYS }, (_, at) => at)),
  managed: someOf(["playground", "optimize"] as const),
  statuses: someOf(STATUSES),
});
type FilterSpec = typeof filterSpec extends fc.Arbitrary<infer T> ? T : never;

function filterOf(journal: UsageJournal, org: JournalOrg, spec: FilterSpec): ReportFilter {
  const fromMs = journal.startOf(0) + spec.from;
  const { models, providers, managed, statuses } = spec;
  const keyIds = spec.keys.flatMap((place) => org.keys[place] ?? []);
  return {
    orgId: org.orgId,
    fromMs,
    toMs: fromMs + spec.hours * HOUR_MS,
    ...(models.length === 0 ? {} : { modelIds: models }),
    ...(providers.length === 0 ? {} : { providerIds: providers }),
    ...(keyIds.length === 0 ? {} : { keyIds }),
    ...(managed.length === 0 ? {} : { managed }),
    ...(statuses.length === 0 ? {} : { statuses }),
  };
}

function expectGroups(
  report: UsageReport,
  requests: readonly ModelRequest[],
  by: ReportGroupBy,
): void {
  const groups = groupedBy(requests, by);
  expect(report.groups.map(({ group }) => group).toSorted()).toEqual([...groups.keys()].toSorted());
  for (const { group, figures } of report.groups) {
    const of = groups.get(group) ?? [];
    expect(exactOf(figures)).toEqual(figuresOf(of));
    expect(offBy(figures.firstByteP50Ms, of, 0.5)).toBeLessThan(PERCENTILE_OFF_MAX);
    expect(offBy(figures.firstByteP95Ms, of, 0.95)).toBeLessThan(PERCENTILE_OFF_MAX);
  }
  const spends = report.groups.map(({ figures }) => figures.debitMicroUsd);
  expect(spends).toEqual(spends.toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0)));
}

function groupedBy(requests: readonly ModelRequest[], by: ReportGroupBy) {
  const groups = new Map<string, ModelRequest[]>();
  for (const request of requests) {
    const group = groupOf(request, by);
    groups.set(group, [...(groups.get(group) ?? []), request]);
  }
  return groups;
}

function expectSeries(
  report: UsageReport,
  requests: readonly ModelRequest[],
  { filter, by }: { readonly filter: ReportFilter; readonly by: ReportGroupBy },
): void {
  const spanMs = filter.toMs - filter.fromMs;
  const bucket = spanMs <= 3 * HOUR_MS ? "five_minutes" : spanMs <= 48 * HOUR_MS ? "hour" : "day";
  const bucketMs = { five_minutes: HOUR_MS / 12, hour: HOUR_MS, day: DAY_MS }[bucket];
  expect(report.bucket).toBe(bucket);
  const first = Math.floor(filter.fromMs / bucketMs) * bucketMs;
  const buckets = Math.ceil((filter.toMs - first) / bucketMs);
  expect(report.series.map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: buckets }, (_, at) => first + at * bucketMs),
  );
  for (const { atMs, parts, firstByteP50Ms, firstByteP95Ms } of report.series) {
    const of = requests.filter(({ ms }) => ms >= atMs && ms < atMs + bucketMs);
    const modelled = [...groupedBy(of, by)].map(([group, inGroup]) => {
      const { requests: count, byStatus, usage, debitMicroUsd } = figuresOf(inGroup);
      const tokens = Object.values(usage).reduce((sum, n) => sum + n, 0);
      return [group, { requests: count, byStatus, tokens, debitMicroUsd }] as const;
    });
    expect(parts).toEqual(new Map(modelled));
    expect(offBy(firstByteP50Ms, of, 0.5)).toBeLessThan(PERCENTILE_OFF_MAX);
    expect(offBy(firstByteP95Ms, of, 0.95)).toBeLessThan(PERCENTILE_OFF_MAX);
  }
}

async function expectRequests(filter: ReportFilter, requests: readonly ModelRequest[]) {
  const walked: ReportedRequest[] = [];
  for await (const page of backend.usageReports.everyRequest(filter)) walked.push(...page);
  const reported = walked.map((row) => ({
    id: row.requestId,
    key: row.keyId,
    origin: row.keyOrigin,
    model: row.modelId ?? "none",
    provider: row.providerId ?? "none",
    status: row.status,
    attempts: row.attempts,
    debit: row.debitMicroUsd,
    tokens: row.usage === null ? [0, 0, 0, 0, 0] : Object.values(row.usage),
    firstByteMs: row.firstByteMs,
  }));
  expect(reported).toEqual(requests.map(({ ms: _ms, ...request }) => request));
  return walked;
}

/** Reads all requests of a filter in pages of four. */
async function readPages(filter: ReportFilter, sort: { readonly sort?: RequestSort } = {}) {
  const paged: ReportedRequest[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = { limit: 4, ...sort, ...(cursor === undefined ? {} : { cursor }) };
    const { rows, nextCursor } = await backend.usageReports.requests(filter, page);
    paged.push(...rows);
    cursor = nextCursor;
  }
  return paged;
}

const SORTS = {
  time: () => 0,
  cost: ({ debitMicroUsd }) => Number(debitMicroUsd),
  duration: ({ durationMs }) => durationMs,
  tokens: ({ usage }) => usage && Object.values(usage).reduce((sum, n) => sum + n, 0),
  cached: ({ usage }) => usage && usage.cachedPrompt,
  first_token: ({ firstByteMs }) => firstByteMs,
  attempts: ({ attempts }) => attempts,
} satisfies Record<RequestSortBy, (request: ReportedRequest) => number | null>;

/** Sorts rows without the value last in both directions, and rows with equal values by id. */
function sorted(
  requests: readonly ReportedRequest[],
  { by, direction }: RequestSort,
): readonly string[] {
  const turn = direction === "asc" ? 1 : -1;
  const valueOf = (request: ReportedRequest): number => SORTS[by](request) ?? turn * Infinity;
  return requests
    .toSorted((a, b) => {
      const [one, other] = [valueOf(a), valueOf(b)];
      if (one === other) return turn * (a.requestId < b.requestId ? -1 : 1);
      return turn * (one < other ? -1 : 1);
    })
    .map(({ requestId }) => requestId);
}

async function expectPages(
  filter: ReportFilter,
  walked: readonly ReportedRequest[],
): Promise<void> {
  expect(await readPages(filter)).toEqual(walked);
  for (const by of Object.keys(SORTS) as RequestSortBy[]) {
    for (const direction of ["asc", "desc"] as const) {
      const sort = { by, direction };
      const paged = (await readPages(filter, { sort })).map(({ requestId }) => requestId);
      expect(paged, `${by} ${direction}`).toEqual(sorted(walked, sort));
    }
  }
}

/** Reads the attempts themselves, and none of the sums. */
async function readGroups(query: UsageQuery, by: string) {
  const column = {
    day: "to_char(request_day(request_id), 'YYYY-MM-DD')",
    model: "model_id",
    key: "case when origin in ('playground', 'optimize') then origin else key_id end",
    provider: "provider_id",
  }[by];
  const rows = await backend.query(
    `select ${column} as name, count(distinct request_id)::integer as requests,
      sum(debit)::text as debit, coalesce(sum(prompt), 0)::integer as prompt,
      coalesce(sum(internal_reasoning), 0)::integer as reasoning
    from journal join api_key using (org_id, key_id)
    where org_id = $1 and request_id >= $2 and request_id < $3 group by 1`,
    [
      query.orgId,
      requestIdFrom(query.fromMs ?? 0),
      query.cursor ?? requestIdFrom(query.toMs ?? LAST),
    ],
  );
  return new Map(rows.map(({ name, ...sums }) => [name, sums]));
}

const LAST = 2 ** 48 - 1;

async function expectGroupSums(filter: ReportFilter, cursor: string | undefined): Promise<void> {
  const { orgId, fromMs, toMs } = filter;
  const queries: readonly UsageQuery[] = [
    { orgId, limit: 1_000 },
    { orgId, limit: 1_000, fromMs, toMs },
    ...(cursor === undefined ? [] : [{ orgId, limit: 1_000, fromMs, cursor }]),
  ];
  for (const query of queries) {
    for (const by of ["day", "model", "key", "provider"] as const) {
      const groups = await backend.recordStore.usageGroups(query, by);
      const found = groups.map(({ group, requests, debitMicroUsd, usage }) => {
        const { prompt, internalReasoning: reasoning } = usage;
        return [group, { requests, debit: debitMicroUsd.toString(), prompt, reasoning }] as const;
      });
      expect(new Map(found)).toEqual(await readGroups(query, by));
    }
  }
}

/**
 * Sorted pages are read from the requests, not from the sums, so they are checked only once, with
 * `isEnd`. One filter is enough to show that the second organization has no figures of the first.
 */
async function expectAll(
  journal: UsageJournal,
  filters: readonly FilterSpec[],
  { isEnd = false } = {},
): Promise<void> {
  for (const [nr, org] of journal.orgs.entries()) {
    const all = await readRequests(backend, org.orgId);
    for (const [at, spec] of filters.slice(0, nr === 0 ? undefined : 1).entries()) {
      const filter = filterOf(journal, org, spec);
      const requests = all.filter((request) => matches(request, filter));
      const by = GROUPINGS[at % GROUPINGS.length] ?? "model";
      const report = await backend.usageReports.report(filter, by);
      expect(exactOf(report.totals)).toEqual(figuresOf(requests));
      expectGroups(report, requests, by);
      expectSeries(report, requests, { filter, by });
      const walked = await expectRequests(filter, requests);
      if (at > 0) continue;
      if (isEnd) await expectPages(filter, walked);
      await expectGroupSums(filter, walked[Math.floor(walked.length / 2)]?.requestId);
    }
  }
}

test("figures of reports equal a plain sum of the rows, for any filter and whichever days were summed", async () => {
  let walked = 0;
  let met: Record<string, unknown> = {};
  await fc.assert(
    fc.asyncProperty(
      fc.array(requestSpec, { minLength: 1, maxLength: 25 }),
      fc.array(requestSpec, { maxLength: 6 }),
      fc.array(filterSpec, { minLength: 5, maxLength: 5 }),
      async (early, late, filters) => {
        const journal = await UsageJournal.make(backend, member);
        await journal.write(early);
        await expectAll(journal, filters.slice(0, 1));
        await rollAll(backend);
        await expectAll(journal, filters.slice(0, 2));
        await journal.refuseLate();
        await expectAll(journal, filters.slice(0, 1));
        await rollAll(backend);
        // Adds corrections, late ends and late attempts to days that are already summed up.
        await journal.endLate();
        await journal.write(late);
        // Ends these attempts at once: a real hold never begins in a day that is summed up.
        await journal.endLate();
        await expectAll(journal, filters);
        await rollAll(backend);
        await expectAll(journal, filters, { isEnd: true });
        // Half of all cache writes last an hour, and the sums must show that.
        expect(await backend.query(WRONG_HOURS_SQL)).toEqual([]);
        walked += early.length;
        [met = {}] = await backend.query(
          `select exists (select from usage_sum) as summed,
            exists (select from usage_rolled where also_refused <> '{}') as refused,
            exists (select from attempt where final and earlier is not null
              and attempt_day(attempt_id) > request_day(request_id)) as over_midnight`,
        );
      },
    ),
    { numRuns: RUNS },
  );
  expect(walked).toBeGreaterThan(RUNS);
  expect(met).toEqual({ summed: true, refused: true, over_midnight: true });
}, 3_600_000);

test("a report's series keep the largest groups by the requested measure, and both latency percentiles", async () => {
  const journal = await UsageJournal.make(backend, member);
  const { orgId, keys } = journal.orgs[0] as JournalOrg;
  const ok = { end: "settled", late: false, provider: 0, nextDay: false } as const;
  const paid = Array.from({ length: 3 }, (_, at) => ({
    org: 0,
    key: 0,
    model: 0,
    day: 1,
    atMs: at,
    refused: false,
    attempts: [{ ...ok, cost: 7, firstByteMs: 10 * (at + 1) }],
  }));
  await journal.write(paid);
  // Each of nine models has more requests than the only model with a cost.
  const createdAtMs = journal.startOf(1) + 1_000;
  const refused = Array.from({ length: 9 * 5 }, (_, at) => ({
    requestId: createRequestId(createdAtMs),
    orgId,
    keyId: keys[0] as KeyId,
    modelId: `model/${at % 9}`,
    route: "/v1/chat/completions",
    stream: false,
    errorClass: "model_not_found" as never,
    createdAtMs,
  }));
  await backend.ledgerBatchStore.recordRefusedBatch(refused, []);
  const range = { orgId, fromMs: journal.startOf(0), toMs: journal.startOf(3) };
  const listed = async (rank: ReportRank): Promise<boolean> => {
    const { series } = await backend.usageReports.report(range, "model", rank);
    return series.some(({ parts }) => parts.has(MODELS[0] ?? ""));
  };
  const ranks: readonly ReportRank[] = ["spend", "tokens", "failed", "requests", "rejected"];
  expect(await Promise.all(ranks.map(listed))).toEqual([true, true, true, false, false]);
  const { series } = await backend.usageReports.report(range, "model");
  const day = series.find(({ atMs }) => atMs === journal.startOf(1));
  expect([day?.firstByteP50Ms, day?.firstByteP95Ms]).toEqual([20, 30]);
  // The parts are ordered by name, so that equal queries get identical answers.
  const names = [...(day?.parts.keys() ?? [])];
  expect(names.length).toBeGreaterThan(2);
  expect(names).toEqual(names.toSorted());
});
