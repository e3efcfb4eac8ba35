import type { MatrixRow } from "./crash-row.ts";
import type { FailPoint } from "./fail-points.ts";
import { AT_SETTLEMENT } from "./rows-at-settlement.ts";
import { BEFORE_DISPATCH } from "./rows-before-dispatch.ts";
import { IN_FLIGHT } from "./rows-in-flight.ts";

const MATRIX: readonly MatrixRow[] = [...BEFORE_DISPATCH, ...IN_FLIGHT, ...AT_SETTLEMENT];

/** The first row of the matrix for each fail point: every run kills the process at each of them. */
export const QUICK_ROWS: readonly MatrixRow[] = [...firstAtEachPoint().values()];

/** The other wires, shapes of answers and ends of batches: the deep run kills there, too. */
export const DEEP_ROWS: readonly MatrixRow[] = MATRIX.filter((row) => !QUICK_ROWS.includes(row));

function firstAtEachPoint(): ReadonlyMap<FailPoint, MatrixRow> {
  const rows = new Map<FailPoint, MatrixRow>();
  for (const row of MATRIX) if (!rows.has(row.diesAt)) rows.set(row.diesAt, row);
  return rows;
}
