import type { TortureOutcome } from "./torture.ts";

/** The outcome for the terminal; the last line says whether anything was broken. */
export function describeOutcome(seed: number, outcome: TortureOutcome): string {
  const violations = outcome.findings.violations();
  const broken = violations.flatMap(({ what, count, examples }) => [
    `BROKEN ${count} times: ${what}`,
    ...examples.map((example) => `  ${example}`),
  ]);
  const verdict =
    violations.length === 0
      ? `nothing was broken (${outcome.findings.all().length} things checked)`
      : `${violations.length} things were broken with seed ${seed}`;
  const figures = figuresOf(outcome).map(([name, figure]) => `${name}: ${figure}`);
  return [...figures, ...broken, verdict, ""].join("\n");
}

type Figure = readonly [name: string, figure: string | number];

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
