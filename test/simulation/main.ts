import { parseArgs } from "node:util";

import { summary } from "./summary.ts";
import { failureText, Totals } from "./totals.ts";
import { simulate } from "./simulation.ts";

/** `npm run sim -- [options]` runs the scenarios of many seeds, or one scenario with its trace. */
const USAGE = `npm run sim -- [options]
  --seeds 200    how many scenarios
  --from 1       the first seed
  --seed S       only this one, with its whole trace`;

const PROGRESS_EVERY_MS = 10_000;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

let unhandled: unknown;
process.on("unhandledRejection", (fault) => {
  unhandled ??= fault;
});

if (values.help) say(USAGE);
else if (values.seed === undefined) process.exitCode = await runMany();
else process.exitCode = await runOne(wholeNumber("seed", values.seed));

async function runMany(): Promise<number> {
  const from = wholeNumber("from", values.from);
  const seeds = wholeNumber("seeds", values.seeds);
  const totals = new Totals();
  const startedMs = performance.now();
  let reportedMs = startedMs;
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await simulate({ seed });
    totals.add(outcome);
    await new Promise((resolve) => setImmediate(resolve));
    if (unhandled !== undefined)
      throw new Error(`seed ${seed}: an unhandled rejection`, { cause: unhandled });
    if (outcome.violation !== undefined) say(failureText(outcome));
    if (performance.now() - reportedMs > PROGRESS_EVERY_MS) {
      reportedMs = performance.now();
      say(`${seed - from + 1} of ${seeds} scenarios, ${totals.failures.length} broken`);
    }
  }
  const wallSeconds = (performance.now() - startedMs) / 1_000;
  process.stdout.write(summary({ totals, wallSeconds }));
  return totals.failures.length === 0 ? 0 : 1;
}

async function runOne(seed: number): Promise<number> {
  const outcome = await simulate({ seed, keepsTrace: true });
  process.stdout.write(`${outcome.trace.join("\n")}\n`);
  const { violation, steps, traceHash } = outcome;
  const end = violation?.message ?? "no promise was broken";
  say(`seed ${seed}: ${end} (${steps} steps, trace ${traceHash})`);
  return violation === undefined ? 0 : 1;
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${name} must be a whole number, not ${text}\n${USAGE}`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
