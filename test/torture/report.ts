import { writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { fileURLToPath } from "node:url";

import { format } from "prettier";

import { systemClock } from "../../src/core/time.ts";
import type { Finding } from "./findings.ts";
import type { TortureRun } from "./options.ts";
import type { TortureOutcome } from "./torture.ts";

const PAGE = fileURLToPath(new URL("../../docs/torture.md", import.meta.url));

/** The outcome for the terminal; the last line says whether anything was broken. */
export function describeOutcome(run: TortureRun, outcome: TortureOutcome): string {
  const violations = outcome.findings.violations();
  const broken = violations.flatMap(({ what, count, examples }) => [
    `BROKEN ${count} times: ${what}`,
    ...examples.map((example) => `  ${example}`),
  ]);
  const verdict =
    violations.length === 0
      ? `nothing was broken (${outcome.findings.all().length} things checked)`
      : `${violations.length} things were broken with seed ${run.options.seed}`;
  const figures = figuresOf(outcome).map(([name, figure]) => `${name}: ${figure}`);
  return [...figures, ...broken, verdict, ""].join("\n");
}

/** Writes docs/torture.md and names it. */
export async function saveReport(run: TortureRun, outcome: TortureOutcome): Promise<string> {
  const page = await format(pageOf(run, outcome), {
    parser: "markdown",
    printWidth: 100,
    proseWrap: "preserve",
  });
  writeFileSync(PAGE, page);
  return "docs/torture.md";
}

function pageOf(run: TortureRun, outcome: TortureOutcome): string {
  const [cpu] = cpus();
  const [loadAverage = 0] = loadavg();
  const date = new Date(systemClock.nowMs()).toISOString().slice(0, 10);
  const command = ["npm run torture", ...(run.words.length === 0 ? [] : ["--", ...run.words])];
  const { instances, concurrency, seed } = run.options;
  return `# Torture

Written by \`npm run torture -- --save\` from what the run measured; do not edit it.

Measured on ${date} with Node ${process.versions.node} on ${cpus().length} cores (${cpu?.model ?? "?"},
Linux ${release()}, load average at the end ${loadAverage.toFixed(2)}), clients, provider, gateways and
database all on this machine. Command: \`${command.join(" ")}\`, seed ${seed}.

${instances} gateway processes on one PostgreSQL, ${concurrency} clients each, eleven organizations with three keys each:
some whose balance, whose own cap or whose keys' caps run short again and again. Half of the calls
stream, half speak each wire, one client in twenty leaves early. The provider fails one answer in
twenty: an error, a reset, a stream that dies, no usage, more tokens than were asked for. Meanwhile
gateways are killed with \`kill -9\` and started again at once, are paused for longer than their lease
and resumed, and the database's first process is killed and started again. At the end one more gateway
is killed for good; its peers have to close what it left.

The seed decides who is struck in which order, what is asked and how the provider answers; the
machine decides the rest, so the same seed gives the same plan, not the same run.

| Figure | Measured |
| --- | --- |
${figuresOf(outcome).map(row).join("\n")}

An answer waits at most two seconds for its settlement. When the database is away for longer and the
gateway is killed before its settlements have been retried, the observed cost is
lost: the ledger charges the hold, and the answer had reported less. That takes two faults at once; the
figure "answers whose settlement was lost with its gateway" counts them, and only them: a cost that
differs for any other reason is a violation.

## What had to hold

| | Violations |
| --- | --- |
${outcome.findings.all().map(findingRow).join("\n")}
`;
}

function row([name, figure]: Figure): string {
  return `| ${name} | ${figure} |`;
}

function findingRow({ what, count }: Finding): string {
  return `| ${what} | ${count} |`;
}

type Figure = readonly [name: string, figure: string | number];

/** Everything that was counted. */
function figuresOf(outcome: TortureOutcome): readonly Figure[] {
  const { havoc, tally, journal, provider, watch } = outcome;
  const rows = [...journal.attempts.values()];
  const unknown = rows.filter((each) => each.state === "unknown_after_crash");
  const neverSent = unknown.filter((each) => !provider.received.has(each.attemptId));
  const perRequest = countBy([...journal.requests.values()].map((attempts) => attempts.length));
  const times = (list: readonly number[]): string => [...list].sort((a, b) => a - b).join(", ");
  const after = (how: "killed" | "frozen"): string =>
    times(
      havoc.takeOvers.filter((each) => each.how === how).map((each) => each.closedAfterLeaseMs),
    );
  return [
    ["`kill -9` of a gateway", havoc.gatewayKills],
    ["`kill -9` of the database", havoc.databaseKills],
    ["gateways that were paused for longer than their lease", havoc.zombies],
    ["seconds under load", outcome.loadSeconds.toFixed(0)],
    ["requests sent", tally.asked],
    ["whole answers", tally.reported.size],
    ["whole answers per second", (tally.reported.size / outcome.loadSeconds).toFixed(0)],
    ["connections that broke with their gateway", tally.broken],
    ["clients that left early", tally.left],
    ["answers that ended with an error", tally.died],
    ...refusalFigures(outcome),
    ["attempts in the journal", rows.length],
    ["attempts the provider received", provider.received.size],
    ["requests by number of attempts", perRequest],
    ["attempts closed at their reserve after a crash", unknown.length],
    [
      "of these, corrected by a gateway that had observed the end after all",
      unknown.filter((each) => each.isCorrected).length,
    ],
    ["of these, never sent", neverSent.length],
    ["answers whose settlement was lost with its gateway", outcome.verdict.lostSettlements],
    [
      "holds annulled because their commit was in doubt",
      rows.filter((each) => each.isAnnulled).length,
    ],
    ["closed after the end of the lease of a paused one, ms", after("frozen")],
    ["closed after the end of the lease of one that was killed for good, ms", after("killed")],
    ["nothing open any more, ms after the load", outcome.settledAfterMs],
    ["checks of balances and caps during the run", watch.checks],
    ["audits during the run", watch.audits],
  ];
}

function refusalFigures({ tally }: TortureOutcome): readonly Figure[] {
  return [...tally.refusals]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([words, times]) => [`refused: ${words}`, times]);
}

function countBy(values: readonly number[]): string {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([value, n]) => `${value}: ${n}`)
    .join(", ");
}
