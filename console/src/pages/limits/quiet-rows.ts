import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import type { CapRow } from "../keys/cap-left.ts";
import { LIMIT_KINDS } from "./limit-change.ts";

/** Fewer are shown: a sentence in their place would save nothing. */
const QUIET_MIN = 10;
/** A key that uses this share of a limit is shown, though nothing about it is special. */
const CLOSE_SHARE = 0.5;

/** Rows that say something, and how many keys are as every other one and left out. */
export interface Telling<T> {
  readonly rows: readonly T[];
  readonly quiet: number;
}

/** Without the keys that have only the defaults and are not close to one. */
export function tellingLimits(rows: readonly LimitRow[]): Telling<LimitRow> {
  return without(
    rows,
    (row) => row.scope === "key" && LIMIT_KINDS.every((kind) => !isClose(row, kind)),
  );
}

/** Without the keys that have no cap. */
export function tellingCaps(caps: readonly CapRow[]): Telling<CapRow> {
  return without(caps, ({ scope, capUsd }) => scope === "key" && capUsd === null);
}

/** The limit is set for this row alone, or it is nearly used up. */
function isClose(row: LimitRow, kind: (typeof LIMIT_KINDS)[number]): boolean {
  const { own, source, used, effective } = row[kind];
  if (own !== null || source === "contract") return true;
  return used !== null && effective !== null && used > 0 && used >= effective * CLOSE_SHARE;
}

function without<T>(rows: readonly T[], isQuiet: (row: T) => boolean): Telling<T> {
  const telling = rows.filter((row) => !isQuiet(row));
  const quiet = rows.length - telling.length;
  return quiet < QUIET_MIN ? { rows, quiet: 0 } : { rows: telling, quiet };
}
