import { innerTable } from "./inner-table.ts";
import { markdownTableOf, print } from "./markdown-table.ts";
import { peerTable } from "./peer-table.ts";
import type { BenchResults, ResultRow } from "./results.ts";
import { besidesRow, costOf, ownFigure, ratio, togetherOf, type Cost } from "./row-figures.ts";
import { isCost, WORKS, type Goal, type Work } from "./works.ts";

export interface TitledTable {
  readonly title: string;
  readonly table: string;
}

/** The tables of a run in Markdown; a table without a row is left out. */
export function markdownTables(results: BenchResults): readonly TitledTable[] {
  const tables = [
    { title: "The gateway beside nginx and the Node floor", table: costTable(results) },
    { title: "The gateway with its database beside every peer", table: peerTable(results) },
    { title: "Ledger batches, load and garbage collections", table: innerTable(results) },
  ];
  return tables.flatMap(({ title, table }) => (table === undefined ? [] : [{ title, table }]));
}

/** Lines below the tables: candidates left out, figures not to be trusted. */
export function tableNotes(results: BenchResults): readonly string[] {
  const absent = results.absent.map(({ id, reason }) => `**${id} was not measured**: ${reason}`);
  const problems = results.rows.flatMap((row) =>
    row.figures.flatMap(({ target, problem }) =>
      problem === undefined ? [] : [`${row.work}, ${target}: ${problem}`],
    ),
  );
  return [...absent, ...problems];
}

const HEADINGS = [
  "Work",
  "Unit",
  "Gateway",
  "Database",
  "Together",
  "nginx",
  "Node floor",
  "x nginx",
  "x floor",
  "Reach",
  "Stretch",
  "Met",
];

function costTable(results: BenchResults): string | undefined {
  const rows = results.rows.flatMap((row) => {
    const work = WORKS.find((one) => one.id === row.work);
    return work === undefined ? [] : [costCells(results, work, row)];
  });
  return markdownTableOf(HEADINGS, rows);
}

function costCells(results: BenchResults, work: Work, row: ResultRow): readonly string[] {
  const figure = ownFigure(row);
  const gateway = costOf(work, row, figure?.target ?? "gateway");
  const beside = besidesRow(results, work, row);
  const [nginx, floor] = (["nginx", "floor"] as const).map((id) => costOf(work, row, id));
  const [besideNginx, besideFloor] = (["nginx", "floor"] as const).map((id) =>
    isCost(work) ? costOf(work, beside, id) : undefined,
  );
  const timesNginx = ratio(gateway?.min, besideNginx?.min);
  const timesFloor = ratio(gateway?.min, besideFloor?.min);
  const together = isCost(work) ? togetherOf(figure) : undefined;
  const served = servedTogether(results, work);
  const seen = {
    timesFloor,
    timesServed: ratio(together, served),
    database: isCost(work) ? figure?.helpersMedian : undefined,
    value: gateway?.median,
  };
  return [
    work.title,
    row.unit,
    ...[gateway].map(costText),
    seen.database === undefined ? "-" : print(seen.database),
    together === undefined ? "-" : print(together),
    ...[nginx, floor].map(costText),
    ...[timesNginx, timesFloor].map((value) => (value === undefined ? "-" : print(value))),
    goalText(work.reach),
    goalText(work.stretch),
    gateway === undefined ? "-" : metWord(work, seen),
  ];
}

function servedTogether(results: BenchResults, work: Work): number | undefined {
  const row = results.rows.find((one) => one.work === work.served);
  return row === undefined ? undefined : togetherOf(ownFigure(row));
}

function costText(cost: Cost | undefined): string {
  return cost === undefined ? "-" : `${print(cost.min)} / ${print(cost.median)}`;
}

interface Seen {
  readonly timesFloor: number | undefined;
  readonly timesServed: number | undefined;
  readonly database: number | undefined;
  readonly value: number | undefined;
}

/** A question mark where what a goal compares with was not measured. */
function metWord(work: Work, seen: Seen): string {
  if (Object.keys(work.reach).length === 0) return "-";
  const pairs = boundsOf(work.reach, seen);
  if (pairs.some(([value]) => value === undefined)) return "?";
  if (isKept(boundsOf(work.stretch, seen))) return "stretch";
  return isKept(pairs) ? "reach" : "no";
}

type Bound = readonly [value: number | undefined, max: number];

function boundsOf(goal: Goal, seen: Seen): readonly Bound[] {
  const { timesFloorMax, timesServedMax, databaseMax, valueMax } = goal;
  const pairs: readonly (readonly [number | undefined, number | undefined])[] = [
    [seen.timesFloor, timesFloorMax],
    [seen.timesServed, timesServedMax],
    [seen.database, databaseMax],
    [seen.value, valueMax],
  ];
  return pairs.flatMap(([value, max]) => (max === undefined ? [] : [[value, max] as const]));
}

function isKept(bounds: readonly Bound[]): boolean {
  return bounds.every(([value, max]) => value !== undefined && value <= max);
}

function goalText({ timesFloorMax, timesServedMax, databaseMax, valueMax }: Goal): string {
  const parts = [
    timesFloorMax === undefined ? [] : [`<= ${timesFloorMax}x floor`],
    timesServedMax === undefined ? [] : [`<= ${timesServedMax}x served`],
    databaseMax === undefined ? [] : [`database <= ${databaseMax}`],
    valueMax === undefined ? [] : [`<= ${valueMax}`],
  ].flat();
  return parts.length === 0 ? "-" : parts.join(", ");
}
