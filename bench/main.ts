import { Bench } from "./bench.ts";
import { buildGateway, commandLine } from "./command.ts";
import { USAGE, parseOptions, type BenchOptions } from "./options.ts";
import { saveResults, type BenchResults } from "./results.ts";
import { markdownTables, tableNotes } from "./table.ts";

/** `npm run bench`: measures this gateway beside its rivals, prints the tables, saves the run. */

let running: Bench | undefined;
const words = process.argv.slice(2);
const chosen = parseOptions(words);
if (chosen === undefined) process.stdout.write(`${USAGE}\n`);
else process.exitCode = await runBench(chosen);

async function runBench(options: BenchOptions): Promise<number> {
  const limitMs = options.timeLimitMinutes * 60_000;
  const limit = setTimeout(() => leave(`longer than ${options.timeLimitMinutes} minutes`), limitMs);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, leave);
  if (options.build && [...options.targets].some((id) => id.startsWith("gateway"))) buildOrSay();
  running = await Bench.start(options, say);
  try {
    const command = commandLine("bench", words);
    const results = { ...(await running.run()), command };
    printResults(results, options);
    return hasProblem(results) ? 1 : 0;
  } finally {
    await running.stop();
    clearTimeout(limit);
  }
}

/** Stops in order; should that fail, all that was started is tethered to this process and ends. */
function leave(reason: string): void {
  say(`stopped: ${reason}`);
  const exit = (): never => process.exit(1);
  (running?.stop() ?? Promise.resolve()).then(exit, exit);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A build that fails is said, and what there is of `dist/` is measured. */
function buildOrSay(): void {
  try {
    buildGateway(say);
  } catch (error) {
    say(`dist/ is measured as it is: ${String(error)}`);
  }
}

function printResults(results: BenchResults, options: BenchOptions): void {
  if (options.save) say(`saved ${saveResults(results)}`);
  const notes = tableNotes(results).map((note) => `- ${note}\n`);
  const tables = markdownTables(results).map(({ title, table }) => `${title}\n\n${table}\n\n`);
  const shown = `${tables.join("")}${notes.join("")}`;
  process.stdout.write(options.json ? `${JSON.stringify(results, null, 2)}\n` : shown);
}

/** A rival that is not on this machine is not a failure; the gateway not running is one. */
function hasProblem(results: BenchResults): boolean {
  const figures = results.rows.flatMap((row) => row.figures);
  const gatewayAbsent = results.absent.some(({ id }) => id.startsWith("gateway"));
  return gatewayAbsent || figures.some((figure) => figure.problem !== undefined);
}
