import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureCycles, openBenchLedger, openBooks } from "./books.ts";
import { fillBooks } from "./fill-books.ts";
import { print, parseWords, type Context, type Report } from "./program.ts";
import { readCpuNs } from "../test/support/process-cost.ts";
import { inSession } from "../test/support/sql.ts";
import { activeOf } from "./sizes.ts";

export const USAGE: string = `npm run bench -- ledger [options]
  Durable cycles of a hold and its settlement on the embedded PostgreSQL, of one organization and one key,
  the worst case for locks. Client and database share the machine.
  --seconds 5    of each row
  --days 1,90    that the journal goes back: it has a partition for each`;

const ONE = { organizations: 1, keys: 1, listings: 1, attempts: 0, days: 0 };
/** The number of cycles in flight for each row. The first row only warms up and is not reported. */
const IN_FLIGHT = [64, 1, 8, 64, 256, 512];

export async function run(words: readonly string[], context: Context): Promise<Report> {
  const options = parseWords(words, { seconds: { value: 5, max: 300 }, days: "1,90" });
  const rows: string[][] = [];
  const problems: string[] = [];
  for (const days of options.days.split(",")) {
    const folder = mkdtempSync(join(tmpdir(), "tokenmarket-ledger-"));
    context.resources.defer(() => rmSync(folder, { recursive: true, force: true }));
    await fillBooks(folder, ONE, context.say);
    const books = await openBooks(folder);
    try {
      await makeOldDays(books.connectionString, Number(days));
      const ledger = await openBenchLedger(books);
      for (const [at, inFlight] of IN_FLIGHT.entries()) {
        const own = process.cpuUsage();
        const databaseNs = readCpuNs(books.processIds());
        const windowMs = options.seconds * 1_000;
        const seen = await measureCycles(ledger, activeOf(ONE, 1), { inFlight, windowMs });
        const { user, system } = process.cpuUsage(own);
        const serverNs = readCpuNs(books.processIds()) - databaseNs;
        const cost = [(user + system) / seen.count, serverNs / seen.count / 1_000];
        const figures = [seen.perSecond, seen.reserveP50Ms, seen.settleP50Ms, ...cost];
        const row = [days, String(inFlight), ...figures.map(print)];
        context.say(row.join("  "));
        if (at > 0) rows.push(row);
      }
      await ledger.shutDown();
      const broken = (await books.backend.audit()).filter(({ violations }) => violations > 0);
      problems.push(...broken.map((check) => `the books are broken: ${JSON.stringify(check)}`));
    } finally {
      await books.stop();
    }
  }
  return {
    tables: [{ title: "Cycles of reserve and settle", headings: HEADINGS, rows }],
    problems,
  };
}

const HEADINGS = [
  "Days of journal",
  "Concurrent",
  "Cycles/s",
  "Reserve p50 ms",
  "Close p50 ms",
  "Client CPU us",
  "Database CPU us",
];

async function makeOldDays(connectionString: string, days: number): Promise<void> {
  const sql = "select ensure_attempt_partition(current_date - n) from generate_series(2, $1) as n";
  await inSession(connectionString, (client) => client.query(sql, [days]));
}
