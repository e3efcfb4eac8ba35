import {
  assert,
  columns,
  count,
  opaque,
  type OrgId,
  type Public,
  type Row,
  text,
} from "../../kernel/index.ts";
import { DAY_MS } from "./report-parts.ts";
import type { ReportSources } from "./report-sources.ts";

/** Maps the counts of a listing's traffic from their names in code to their column names. */
const COUNTS = {
  succeeded: "succeeded",
  /** Attempts that failed because of the provider, not of the request or a client that left. */
  failed: "failed",
  usedHours: "used_hours",
  /** Hours in which at least one call succeeded. */
  upHours: "up_hours",
  /** This and the next two cover complete streams: an answer in one piece has no first token. */
  streamed: "streamed",
  streamedTokens: "streamed_tokens",
  streamedMs: "streamed_ms",
} as const;
type CountName = keyof typeof COUNTS;

function byCount<T>(make: (name: CountName, column: string) => T) {
  const made = Object.entries(COUNTS).map(([name, column]) => [
    name,
    make(name as CountName, column),
  ]);
  return Object.fromEntries(made) as Readonly<Record<CountName, T>>;
}

/** The traffic of a listing in a span of time. Sums of several spans can be added. */
export interface ListingSums extends Readonly<Record<CountName, number>> {
  readonly providerId: string;
  readonly modelId: string;
  readonly fromMs: number;
  /** Maps buckets of the time to the first byte (SQL `first_byte_span`) to numbers of answers. */
  readonly firstBytes: ReadonlyMap<number, number>;
}

/** A figure is null if there is nothing to compute it from. */
export function computeFigures(sums: readonly ListingSums[]) {
  const total = byCount((name) => sums.reduce((sum, each) => sum + each[name], 0));
  const calls = total.succeeded + total.failed;
  const firstBytes = countsTogether(sums.map((each) => each.firstBytes));
  return {
    calls,
    success: computeShare(total.succeeded, calls),
    /** The share of hours with calls in which at least one succeeded, 0 to 1. */
    uptime: computeShare(total.upHours, total.usedHours),
    firstTokenP50Ms: findPercentile(firstBytes, 0.5),
    firstTokenP95Ms: findPercentile(firstBytes, 0.95),
    tokensPerSecond: computeShare(total.streamedTokens * 1_000, total.streamedMs),
  };
}

function countsTogether(all: readonly ReadonlyMap<number, number>[]): ReadonlyMap<number, number> {
  const together = new Map<number, number>();
  for (const counts of all) {
    for (const [span, answers] of counts) together.set(span, (together.get(span) ?? 0) + answers);
  }
  return together;
}

function computeShare(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

function findPercentile(counts: ReadonlyMap<number, number>, share: number): number | null {
  const all = [...counts.values()].reduce((sum, answers) => sum + answers, 0);
  let left = Math.ceil(all * share);
  for (const [span, answers] of [...counts].toSorted(([a], [b]) => a - b)) {
    left -= answers;
    if (left <= 0) return spanMiddleMs(span);
  }
  return null;
}

const EXACT_BELOW_MS = 32;
const SPANS_PER_DOUBLING = 16;

/** Returns the middle of a bucket (SQL `first_byte_span`), in whole milliseconds. */
export function spanMiddleMs(span: number | null): number | null {
  if (span === null || span < EXACT_BELOW_MS) return span;
  const doublings = Math.floor(span / SPANS_PER_DOUBLING) - 1;
  const first = (span - doublings * SPANS_PER_DOUBLING) << doublings;
  return first + ((1 << doublings) >> 1);
}

/** The most rows that a query returns, newest first; older rows are left out. */
const ROWS_MAX = 50_000;

export type ListingFiguresStore = Public<PostgresListingFigures>;

/** Figures of listings from PostgreSQL. A day that is not summed yet is computed from its hours. */
export class PostgresListingFigures {
  readonly #sources: Pick<ReportSources, "run">;

  constructor(sources: Pick<ReportSources, "run">) {
    this.#sources = sources;
  }

  async own(
    filter: { readonly orgId: OrgId; readonly modelId?: string; readonly providerId?: string },
    from: { readonly dayMs: number; readonly hourMs: number },
  ) {
    const { orgId, modelId = null, providerId = null } = filter;
    const values = (ms: number): unknown[] => [orgId, modelId, providerId, new Date(ms)];
    const { days, hours } = await this.#sources.run(async (client) => ({
      days: (await client.query<Row>(OWN_DAYS_SQL, values(from.dayMs))).rows,
      hours: (await client.query<Row>(OWN_HOURS_SQL, values(from.dayMs))).rows,
    }));
    const ofDays = days.map(readSumsRow);
    const ofHours = hours.map(readSumsRow);
    return {
      /** Sums by UTC day, without days that have no calls. */
      days: oldestFirst([...ofDays, ...daysOfHours(ofHours, ofDays)]),
      hours: oldestFirst(ofHours).filter(({ fromMs }) => fromMs >= from.hourMs),
    };
  }

  /** Sums over all organizations, without days that would reveal something about one of them. */
  async published(fromDayMs: number): Promise<readonly ListingSums[]> {
    const from = [new Date(fromDayMs)];
    const rows = await this.#sources.run(
      async (client) => (await client.query<Row>(PUBLISHED_SQL, from)).rows,
    );
    return oldestFirst(rows.map(readSumsRow));
  }
}

function oldestFirst(sums: readonly ListingSums[]): readonly ListingSums[] {
  return sums.toSorted((a, b) => a.fromMs - b.fromMs);
}

const SUMS = `provider_id, model_id, succeeded, failed, streamed, streamed_tokens, streamed_ms,
  first_byte_spans, first_byte_counts`;
const DAY_MS_SQL = "extract(epoch from day::timestamp at time zone 'utc')::bigint * 1000";
const OF_FILTER_SQL = `org_id = $1 and ($2::text is null or model_id = $2)
    and ($3::text is null or provider_id = $3)`;
const HOURS_OF_DAY_SQL = `${DAY_MS_SQL} as from_ms,
    bit_count(used_hours::bit(24)) as used_hours, bit_count(up_hours::bit(24)) as up_hours`;

/** $1 organization, $2 model or null, $3 provider or null, $4 the first instant. */
const OWN_DAYS_SQL = `
  select ${SUMS}, ${HOURS_OF_DAY_SQL} from listing_day_sum
  where ${OF_FILTER_SQL} and day >= ($4::timestamptz at time zone 'utc')::date
  order by day desc, provider_id, model_id limit ${ROWS_MAX}`;

const OWN_HOURS_SQL = `
  select ${SUMS}, extract(epoch from hour)::bigint * 1000 as from_ms,
    (succeeded + failed > 0)::integer::bigint as used_hours,
    (succeeded > 0)::integer::bigint as up_hours
  from listing_hour_sum
  where ${OF_FILTER_SQL} and hour >= $4
  order by hour desc, provider_id, model_id limit ${ROWS_MAX}`;

const PUBLISHED_SQL = `
  select ${SUMS}, ${HOURS_OF_DAY_SQL} from listing_public_day
  where day >= ($1::timestamptz at time zone 'utc')::date
  order by day desc, provider_id, model_id limit ${ROWS_MAX}`;

const sumColumns = columns({
  providerId: text<string>("provider_id"),
  modelId: text<string>("model_id"),
  fromMs: count("from_ms"),
  ...byCount((_name, column) => count(column)),
});
const firstByteColumns = columns({
  spans: opaque<number[]>("first_byte_spans"),
  counts: opaque<number[]>("first_byte_counts"),
});

function readSumsRow(row: Row): ListingSums {
  const { spans, counts } = firstByteColumns.read(row);
  assert(spans.length === counts.length, "each span of first bytes has its count");
  const firstBytes = new Map(spans.map((span, at) => [span, counts[at] ?? 0]));
  return { ...sumColumns.read(row), firstBytes };
}

function daysOfHours(
  hours: readonly ListingSums[],
  days: readonly ListingSums[],
): readonly ListingSums[] {
  const toDayKey = ({ providerId, modelId, fromMs }: ListingSums): string =>
    `${Math.floor(fromMs / DAY_MS)} ${providerId} ${modelId}`;
  const summed = new Set(days.map(toDayKey));
  const made = new Map<string, ListingSums>();
  for (const hour of hours) {
    const key = toDayKey(hour);
    if (summed.has(key)) continue;
    const known = made.get(key);
    const fromMs = Math.floor(hour.fromMs / DAY_MS) * DAY_MS;
    made.set(key, known === undefined ? { ...hour, fromMs } : added(known, hour));
  }
  return [...made.values()];
}

function added(a: ListingSums, b: ListingSums): ListingSums {
  const firstBytes = countsTogether([a.firstBytes, b.firstBytes]);
  return { ...a, ...byCount((name) => a[name] + b[name]), firstBytes };
}
