import { cpus } from "node:os";

import { FAULT_KINDS } from "./faults.ts";
import type { Totals } from "./totals.ts";

interface Run {
  readonly totals: Totals;
  readonly wallSeconds: number;
  readonly command: string;
}

const HOUR_MS = 3_600_000;

/** The figures of a run, for a terminal. */
export function summary(run: Run): string {
  return `${[...figures(run), ...faultRows(run.totals)].map((row) => row.join(": ")).join("\n")}\n`;
}

/** docs/simulation.md: what is simulated, what is promised, and what one run measured. */
export function resultsPage(run: Run): string {
  const { totals, command } = run;
  return `# Simulation

Written by \`${command} --save\` from its own figures; change it in \`test/simulation/page.ts\`.

${WHAT_IT_IS}

## One run

Measured on ${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node} on
${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), one process.

${table(["Figure", "Value"], figures(run))}

### Faults that struck

${table(["Fault", "Times"], faultRows(totals))}

### Where processes died, slept or lost their time

The await that did not go on at once; a crash right after a commit is counted above.

${table(["Before", "Times"], sorted(totals.struck))}

### How requests ended for their clients

${table(["Ending", "Requests"], sorted(totals.endings))}

${BROKEN_ON_PURPOSE}

${table(["What was broken in a copy of the program", "Scenarios that noticed, of 200"], NOTICED)}

${WHAT_IT_IS_NOT}
`;
}

function figures({ totals, wallSeconds }: Run): readonly (readonly string[])[] {
  const hours = totals.simulatedMs / HOUR_MS;
  return [
    ["scenarios (seeds)", count(totals.runs)],
    ["scenarios in which a promise was broken", count(totals.failures.length)],
    ["steps (events, each followed by all checks)", count(totals.steps)],
    ["requests", count(totals.requests)],
    ["attempts sent to providers", count(totals.dispatches)],
    ["attempts closed by recovery, at their reserve", count(totals.recovered)],
    ["answers reported before their closing had committed", count(totals.pendingAnswers)],
    [
      "refusals charged, because the instance died before it could annul",
      count(totals.chargedRefusals),
    ],
    [
      "attempts sent by an instance whose clocks were frozen past its lease",
      count(totals.lateDispatches),
    ],
    ["simulated hours", hours.toFixed(1)],
    ["of these with faults", (totals.faultyMs / HOUR_MS).toFixed(1)],
    ["wall seconds", wallSeconds.toFixed(1)],
    ["simulated hours per wall hour", count(Math.round((hours * 3_600) / wallSeconds))],
  ];
}

function faultRows(totals: Totals): readonly (readonly string[])[] {
  return FAULT_KINDS.map((kind) => [kind, count(totals.faults.get(kind) ?? 0)]);
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly string[])[] {
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, times]) => [name, count(times)]);
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("\n");
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

const WHAT_IT_IS = `\`npm run sim\` runs the request path in scenarios, each generated from one seed: two or three
instances of the gateway, the database they share, three providers on both wires, and clients. One
process, no socket, no real time: every timer and every answer is an event on one queue, and time is
the time of the event that runs. A scenario of some minutes takes some hundredths of a second, and the
same seed always does the same, to the last event.

Real is everything that decides: the recipe \`serveCall\` with routing, both wires, failure tables,
circuits, limits, deadlines and delivery, and the ledger with its lanes, lease and recovery. The
books behind it are the pure model (\`src/ledger/ledger-model.ts\`), which the differential test holds
equal to the SQL functions. Simulated is everything outside: the network to the database, the
providers below the dispatch seam, the clients behind \`ClientExchange\`, the clocks, and the death of
processes.

A seed also determines how likely each fault is: some scenarios have none of a kind, some many.
Faults strike before any await continues (a process dies, sleeps, or finds its clock elsewhere), on
every call to the database, on every dispatch, and with every client.

## Promises that are checked

After every event:

- No organization has spent and holds more than it was credited; no cap is passed by what is settled
  and in flight; every wallet holds exactly the reserves of its open attempts; all debits equal all
  credits.
- An attempt is closed once. Afterwards nothing about it changes, but for the one late correction of
  an attempt that recovery had charged at its reserve.
- An attempt is sent once, and at that instant the database has its durable hold. The one
  exception is counted: a machine whose clocks were all frozen past its lease cannot know it; what it
  sends then is paid from the reserve that recovery has charged.
- The recipe closes an attempt once, releases a lease once, and writes nothing behind the last
  bytes; one answer comes from one provider.
- The cost that an answer reports (\`usage.cost\`) is what the books debit at that moment. Where the
  closing had not committed within two seconds, it is what the books debit in the end, unless the
  instance dies before that: then the reserve is charged.
- In-flight and per-minute limits, counted a second time in the simplest way, are never passed.
- Lanes call the store one batch at a time; an instance takes traffic only after its earlier life is
  closed; an orderly shutdown leaves nothing open, or says that it does.

Once faults have stopped:

- Every request was answered or its client had left; what a dead instance left open is closed within
  lease and recovery; every attempt is closed, no lease, drain, deadline or annulment is left.
- Debits are the floor of what the provider reported in a whole answer, within the reserve, at the
  prices of the listing for that size of prompt at the instant of admission; some change in the
  middle. What was never sent costs nothing, and a refusal costs nothing. The one
  exception is counted: the answer to a reserve was lost and the instance died before it could annul
  the hold, so that recovery found it open.
- The ids of refused requests are known. Every instance takes traffic again and answers new requests.

## A scenario that fails

The run prints the seed, the step and the last events. \`npm run sim -- --seed S\` prints everything
that happened in it. The seed means the same only with the same program: a changed await is
another scenario.`;

const BROKEN_ON_PURPOSE = `## Broken on purpose

A check that cannot fail is worth nothing. Each line was broken alone, and scenarios 1 to 200 were run.
Only the last line was not noticed, and rightly: the recipe's own figure and the ledger's are the
same in every scenario, because a late closing corrects what recovery had charged.`;

const NOTICED: readonly (readonly string[])[] = [
  ["the answer is reported before its closing commits", "200"],
  ["dispatch does not wait for the reserve", "200"],
  ["a reserve whose answer was lost counts as reserved", "134"],
  ["no annulment after a lost answer", "73"],
  ["an annulment is tried once only", "14"],
  ["the lease is not checked again when the journal has answered", "5"],
  ["the recipe closes twice", "125"],
  ["closings that did not commit are dropped", "78"],
  ["the closing of a failed roll is dropped", "41"],
  ["closings that the books rejected are dropped", "8"],
  ["a reserve refused for its age is sent all the same", "62"],
  ["two batches at a time on one lane", "116"],
  ["a fault of our own leaves its hold and lease", "38"],
  ["a fault of our own leaves its lease", "35"],
  ["the lease is not released after a failover", "136"],
  ["the lease is released twice after a fault", "21"],
  ["limits stay claimed after a refused hold", "168"],
  ["a drain is never left", "47"],
  ["failover after the first byte", "22"],
  ["a cut by the shutdown fails over", "6"],
  ["keep-alives go on after the end", "69"],
  ["one bucket of usage is not read", "196"],
  ["a debit above its reserve is reported", "16"],
  ["a start does not recover its earlier life", "89"],
  ["no instance recovers the dead", "43"],
  ["the recovery loop ends at its first fault", "150"],
  ["who was declared dead does not join again", "43"],
  ["attempt ids by the host's own clock", "35"],
  ["a shutdown does not wait for its closings", "2"],
  ["a refused request is recorded once or never", "64"],
  ["the reported cost is the recipe's own figure", "0"],
];

const WHAT_IT_IS_NOT = `## What it cannot see

The SQL itself, the driver, sockets, HTTP parsing, authentication and the event loop's own order of
timers and input are not in it; the contract, end-to-end and torture tests have those. The database
of this simulation never loses what it has committed. Crashes strike between events, where a process of
one thread can be observed from outside.`;
