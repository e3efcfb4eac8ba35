import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";

import { openPostgresBackend } from "../src/app/open-postgres-backend.ts";
import { shownListings } from "../src/console-api/show-listing-figures.ts";
import { LISTING_HOURS_KEPT } from "../src/core/constants.ts";
import type { OrgId } from "../src/core/ids.ts";
import { systemClock } from "../src/core/time.ts";
import { startEmbeddedPostgres } from "../src/storage/embedded-server.ts";
import { commandLine, loadAverage, machineFacts, today, writePage } from "./command.ts";
import { listingFiguresPage, type Look, type TableSize } from "./listing-figures-page.ts";

/**
 * How long the figures of listings take to read from sums of many listings, days and organizations: the
 * public ones, and those of one organization. Every organization called every listing in every hour, so
 * that no sum that can be there is missing. Run: `npm run bench:listings -- [--listings 10]
 * [--organizations 20] [--days 30] [--times 40] [--save]`. `--save` writes
 * docs/listing-figures-performance.md.
 */
const words = process.argv.slice(2);
const { values: flags } = parseArgs({
  args: words,
  options: {
    listings: { type: "string", default: "10" },
    organizations: { type: "string", default: "20" },
    days: { type: "string", default: "30" },
    times: { type: "string", default: "40" },
    save: { type: "boolean", default: false },
  },
});
const sizes = {
  listings: whole("listings", flags.listings, 1_000),
  organizations: whole("organizations", flags.organizations, 5_000),
  days: whole("days", flags.days, 30),
};
const times = whole("times", flags.times, 1_000);
const PROVIDERS = 10;
const SPANS = 24;
const CALLS_A_SPAN_AND_HOUR = 2;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOURS_SHOWN = 48;
const ORG_ID = "org_1" as OrgId;
const TABLES = ["listing_day_sum", "listing_hour_sum", "listing_public_day"] as const;
const quiet = { info: () => undefined, warn: console.warn, error: console.error };

const loadAtStart = loadAverage();
const folder = mkdtempSync(join(tmpdir(), "listing-figures-"));
chmodSync(folder, 0o755); // as root the database runs as another user, who must get in
const server = await startEmbeddedPostgres({ dataDir: folder, log: quiet });
const { connectionString } = server;
const backend = openPostgresBackend({ connectionString, log: quiet, reportTimeoutMs: 120_000 });
const client = new Client({ connectionString });
try {
  await main();
} finally {
  await client.end();
  await backend.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  await backend.migrate();
  await client.connect();
  const startMs = systemClock.monotonicMs();
  for (const sql of fillSql()) await client.query(sql);
  await client.query("vacuum analyze");
  const filledInSeconds = (systemClock.monotonicMs() - startMs) / 1_000;
  const published = await publishDays();
  await client.query("vacuum analyze");
  const looks = [published, ...(await readFigures())];
  console.table(looks);
  const page = listingFiguresPage({
    date: today(),
    node: process.versions.node,
    machine: machineFacts(loadAtStart),
    command: commandLine("bench:listings", words),
    sizes,
    hoursKept: LISTING_HOURS_KEPT,
    times,
    filledInSeconds,
    tables: await tableSizes(),
    looks,
  });
  if (flags.save) console.log(await writePage("listing-figures-performance.md", page));
}

/** As the program does it, a day at a time; the last call finds nothing left. */
async function publishDays(): Promise<Look> {
  const walls: number[] = [];
  for (;;) {
    const startMs = systemClock.monotonicMs();
    if (!(await backend.usageRollup.rollSome())) break;
    walls.push(systemClock.monotonicMs() - startMs);
  }
  if (walls.length !== sizes.days) {
    throw new Error(`${walls.length} days were checked for showing, ${sizes.days} are over`);
  }
  return lookOf("checking a day for showing, once a day", walls);
}

/** What the two routes read and put together; neither keeps an answer here. */
async function readFigures(): Promise<Look[]> {
  const { listingFigures } = backend;
  const nowMs = systemClock.nowMs();
  const dayMs = (Math.floor(nowMs / DAY_MS) + 1 - 30) * DAY_MS;
  const from = { dayMs, hourMs: nowMs - HOURS_SHOWN * HOUR_MS };
  const own = async (
    filter: { readonly modelId?: string; readonly providerId?: string },
    rows: number,
  ): Promise<void> => {
    const { days, hours } = await listingFigures.own({ orgId: ORG_ID, ...filter }, from);
    const hasHistory = Object.keys(filter).length > 0;
    expectListings(shownListings(days, { hours, hasHistory, isRounded: false }), rows);
  };
  const ofProvider = Math.ceil(sizes.listings / PROVIDERS);
  return [
    await measure("public figures of all listings", async () => {
      const days = await listingFigures.published(dayMs);
      const as = { hours: [], hasHistory: false, isRounded: true };
      expectListings(shownListings(days, as), sizes.listings);
    }),
    await measure("public figures of all listings, each day", async () => {
      const days = await listingFigures.published(dayMs);
      const as = { hours: [], hasHistory: true, isRounded: true };
      expectListings(shownListings(days, as), sizes.listings);
    }),
    await measure("one organization, all listings", () => own({}, sizes.listings)),
    await measure("one organization, one provider, with its history", () =>
      own({ providerId: "provider-0" }, ofProvider),
    ),
    await measure("one organization, one model, with its history", () =>
      own({ modelId: "vendor/model-0" }, 1),
    ),
  ];
}

/** A fast answer without the figures would be no figure. */
function expectListings(shown: readonly unknown[], count: number): void {
  if (shown.length === count) return;
  throw new Error(`${shown.length} listings were read, ${count} have sums`);
}

async function measure(what: string, look: () => Promise<void>): Promise<Look> {
  const walls: number[] = [];
  for (let i = 0; i < times; i++) {
    const startMs = systemClock.monotonicMs();
    await look();
    walls.push(systemClock.monotonicMs() - startMs);
  }
  return lookOf(what, walls);
}

function lookOf(what: string, walls: readonly number[]): Look {
  const sorted = walls.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { what, firstMs: walls[0] ?? Number.NaN, p50Ms: at(0.5), p95Ms: at(0.95) };
}

async function tableSizes(): Promise<TableSize[]> {
  const tables: TableSize[] = [];
  for (const name of TABLES) {
    const { rows } = await client.query<{ count: string; bytes: string }>(
      `select count(*)::text as count, pg_total_relation_size('${name}')::text as bytes from ${name}`,
    );
    tables.push({ name, rows: Number(rows[0]?.count), bytes: Number(rows[0]?.bytes) });
  }
  return tables;
}

/** The sums as the program would have made them, and the marks that these days and hours are over. */
function fillSql(): readonly string[] {
  const { listings, organizations, days } = sizes;
  const each = `generate_series(1, ${organizations}) as o(o), generate_series(0, ${listings - 1}) as l(l)`;
  const ids = `'provider-' || l % ${PROVIDERS}, 'vendor/model-' || l`;
  const sums = (hours: number): string => {
    const calls = SPANS * CALLS_A_SPAN_AND_HOUR * hours;
    const spans = `(select array_agg((150 + (o + l) % 12 + s)::smallint order by s)
      from generate_series(0, ${SPANS - 1}) as s(s))`;
    const counts = `array_fill(${CALLS_A_SPAN_AND_HOUR * hours}, array[${SPANS}])`;
    return `${calls}, ${calls * 300}, ${calls}::bigint * (3000 + (o * 7 + l) % 4000), ${spans}, ${counts}`;
  };
  const calls = (hours: number): number => SPANS * CALLS_A_SPAN_AND_HOUR * hours;
  return [
    `insert into usage_day (day, is_done)
      select (now() at time zone 'utc')::date - n, true from generate_series(1, ${days}) as d(n)`,
    `insert into listing_hour (hour, folded_at)
      select date_trunc('hour', now()) - n * interval '1 hour', now()
      from generate_series(0, ${LISTING_HOURS_KEPT}) as h(n)`,
    `insert into listing_day_sum (org_id, day, provider_id, model_id, attempts, succeeded, failed,
        used_hours, up_hours, streamed, streamed_tokens, streamed_ms, first_byte_spans,
        first_byte_counts)
      select 'org_' || o, (now() at time zone 'utc')::date - n, ${ids}, ${calls(24) + 9},
        ${calls(24)}, 9, (1 << 24) - 1, (1 << 24) - 1, ${sums(24)}
      from ${each}, generate_series(1, ${days}) as d(n)`,
    `insert into listing_hour_sum (org_id, hour, provider_id, model_id, attempts, succeeded, failed,
        streamed, streamed_tokens, streamed_ms, first_byte_spans, first_byte_counts)
      select 'org_' || o, date_trunc('hour', now()) - n * interval '1 hour', ${ids},
        ${calls(1) + 1}, ${calls(1)}, 1, ${sums(1)}
      from ${each}, generate_series(1, ${LISTING_HOURS_KEPT}) as h(n)`,
  ];
}

function whole(name: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value <= max) return value;
  throw new Error(`--${name} must be a whole number from 1 to ${max}, got ${text}`);
}
