import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import type { CapRow } from "../keys/cap-left.ts";
import { LIMIT_KINDS } from "./limit-change.ts";

/** Minimum number of keys that are worth hiding. If there are fewer, they are all shown. */
const QUIET_MIN = 10;
/** Share of a limit from which a key's use counts as notable, so that the key is not hidden. */
const CLOSE_SHARE = 0.5;

export interface Telling<T> {
  readonly rows: readonly T[];
  readonly quiet: number;
}

/** Hides keys that have only the default limits and use less than half of them. */
export function tellingLimits(rows: readonly LimitRow[]): Telling<LimitRow> {
  return without(
    rows,
    (row) => row.scope === "key" && LIMIT_KINDS.every((kind) => !isClose(row, kind)),
  );
}

export function tellingCaps(caps: readonly CapRow[]): Telling<CapRow> {
  return without(caps, ({ scope, capUsd }) => scope === "key" && capUsd === null);
}

/** True if the limit is specific to this row, or at least half used. */
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
