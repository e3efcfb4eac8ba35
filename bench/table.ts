import type { BenchResults, Figure, ResultRow } from "./results.ts";
import type { TargetId } from "./targets/target.ts";
import { WORKS, type Goal, type Work } from "./works.ts";

const HEADINGS = ["Work", "Unit", "Gateway", "nginx", "Node floor", "Portkey"];
const RATIO_HEADINGS = ["x nginx", "Portkey / gateway", "Reach", "Stretch", "Met"];

/** The table of a run in Markdown: minimum / median of every candidate, ratios of the minimums. */
export function markdownTable(results: BenchResults): string {
  const headings = [...HEADINGS, ...RATIO_HEADINGS];
  const rows = results.rows.flatMap((row) => {
    const work = WORKS.find((one) => one.id === row.work);
    return work === undefined ? [] : [tableLine(tableCells(work, row))];
  });
  const rule = tableLine(headings.map(() => "---"));
  return [tableLine(headings), rule, ...rows].join("\n");
}

/** Lines below the table: candidates left out, figures not to be trusted, the database's share. */
export function tableNotes(results: BenchResults): readonly string[] {
  const absent = results.absent.map(({ id, reason }) => `**${id} was not measured**: ${reason}`);
  const figures = results.rows.flatMap((row) => row.figures.map((figure) => ({ row, figure })));
  const problems = figures.flatMap(({ row, figure }) =>
    figure.problem === undefined ? [] : [`${row.work}, ${figure.target}: ${figure.problem}`],
  );
  const helpers = figures.flatMap(({ row, figure }) =>
    figure.helpersMedian === 0
      ? []
      : [
          `${row.work}: the database processes of ${figure.target} took another ` +
            `${print(figure.helpersMedian)} us each (median)`,
        ],
  );
  return [...absent, ...problems, ...helpers];
}

function tableCells(work: Work, row: ResultRow): readonly string[] {
  const [gateway, nginx, floor, portkey] = (["gateway", "nginx", "floor", "portkey"] as const).map(
    (id) => costOf(work, row, id),
  );
  const costs = [gateway, nginx, floor, portkey].map((cost) =>
    cost === undefined ? "-" : `${print(cost.min)} / ${print(cost.median)}`,
  );
  const isRatio = work.kind === "request" || work.kind === "stream";
  const timesNginx = isRatio ? ratio(gateway?.min, nginx?.min) : undefined;
  const timesLess = isRatio ? ratio(portkey?.min, gateway?.min) : undefined;
  const seen = { timesNginx, timesLess, value: gateway?.median };
  const met = gateway === undefined ? "-" : metWord(work, seen);
  const ratios = [timesNginx, timesLess].map((value) => (value === undefined ? "-" : print(value)));
  return [
    work.title,
    row.unit,
    ...costs,
    ...ratios,
    goalText(work.reach),
    goalText(work.stretch),
    met,
  ];
}

interface Cost {
  readonly min: number;
  readonly median: number;
}

/** The figure of a target; of a latency row what it adds over no gateway at all. */
function costOf(work: Work, row: ResultRow, id: TargetId): Cost | undefined {
  const figure = usable(row, id);
  if (figure === undefined || work.kind !== "latency") return figure;
  const direct = usable(row, "direct");
  if (direct === undefined) return undefined;
  return { min: figure.min - direct.min, median: figure.median - direct.median };
}

function usable(row: ResultRow, id: TargetId): Figure | undefined {
  const figure = row.figures.find((one) => one.target === id);
  return figure !== undefined && figure.values.length > 0 ? figure : undefined;
}

interface Seen {
  readonly timesNginx: number | undefined;
  readonly timesLess: number | undefined;
  readonly value: number | undefined;
}

/** A question mark where a rival the goal names was not measured. */
function metWord(work: Work, seen: Seen): string {
  const { timesNginxMax, timesLessThanPortkeyMin } = work.reach;
  const unknown =
    (timesNginxMax !== undefined && seen.timesNginx === undefined) ||
    (timesLessThanPortkeyMin !== undefined && seen.timesLess === undefined);
  if (unknown) return "?";
  if (meets(work.stretch, seen)) return "stretch";
  return meets(work.reach, seen) ? "reach" : "no";
}

function meets(goal: Goal, seen: Seen): boolean {
  const below = (value: number | undefined, max: number | undefined): boolean =>
    max === undefined || (value !== undefined && value <= max);
  const { timesLessThanPortkeyMin: min } = goal;
  return (
    below(seen.timesNginx, goal.timesNginxMax) &&
    below(seen.value, goal.valueMax) &&
    (min === undefined || (seen.timesLess !== undefined && seen.timesLess >= min))
  );
}

function goalText(goal: Goal): string {
  if (goal.valueMax !== undefined) return `<= ${goal.valueMax}`;
  const { timesNginxMax, timesLessThanPortkeyMin: min } = goal;
  return `<= ${timesNginxMax}x${min === undefined ? "" : `, >= ${min}x less`}`;
}

function ratio(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined || under === 0 ? undefined : over / under;
}

function print(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1);
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
