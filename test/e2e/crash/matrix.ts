import type { MatrixRow } from "./crash-row.ts";
import type { FailPoint } from "./fail-points.ts";
import { AT_SETTLEMENT } from "./rows-at-settlement.ts";
import { BEFORE_DISPATCH } from "./rows-before-dispatch.ts";
import { IN_FLIGHT } from "./rows-in-flight.ts";

export const MATRIX: readonly MatrixRow[] = [...BEFORE_DISPATCH, ...IN_FLIGHT, ...AT_SETTLEMENT];

/** One point for each state in which a kill may leave the books; the points between them change none. */
const QUICK_POINTS: readonly FailPoint[] = [
  "reserve queued",
  "reserve sent",
  "dispatched",
  "output sent",
  "roll sent",
  "settle queued",
  "settle sent",
  "settle committed",
];

/** The first row of the matrix for each of those points: every run kills the process there. */
export const QUICK_ROWS: readonly MatrixRow[] = QUICK_POINTS.flatMap(
  (point) => MATRIX.find((row) => row.diesAt === point) ?? [],
);

/** The other points, wires, shapes of answers and ends of batches: the deep run kills there, too. */
export const DEEP_ROWS: readonly MatrixRow[] = MATRIX.filter((row) => !QUICK_ROWS.includes(row));
