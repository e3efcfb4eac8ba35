import { FAULT_KINDS } from "./faults.ts";
import type { Totals } from "./totals.ts";

interface Run {
  readonly totals: Totals;
  readonly wallSeconds: number;
}

const HOUR_MS = 3_600_000;

/** Returns the figures of a run, for a terminal. */
export function summary(run: Run): string {
  const { struck, endings } = run.totals;
  const rows = [
    ...figures(run),
    ...faultRows(run.totals),
    ...counted("struck before", struck),
    ...counted("requests that ended", endings),
  ];
  return `${rows.map((row) => row.join(": ")).join("\n")}\n`;
}

function counted(
  what: string,
  counts: ReadonlyMap<string, number>,
): readonly (readonly string[])[] {
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, times]) => [`${what} ${name}`, count(times)]);
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

function count(value: number): string {
  return value.toLocaleString("en-US");
}
