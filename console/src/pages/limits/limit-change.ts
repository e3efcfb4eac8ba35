import type { BodyOf, LimitRow } from "../../api/contract.ts";
import type { Problems } from "../../ui/form-dialog.tsx";
import type { CapRow } from "../keys/caps.ts";

type LimitBody = BodyOf<"POST /api/admission-limits">;
export type LimitKind = "rpm" | "tpm" | "concurrency";

export const LIMIT_KINDS: readonly LimitKind[] = ["rpm", "tpm", "concurrency"];

/** The label of each kind of limit, and the time span that its used amount covers. */
export const KIND_LABELS: Readonly<
  Record<LimitKind, { readonly label: string; readonly used: string }>
> = {
  rpm: { label: "Requests per minute", used: "in the last 60 seconds" },
  tpm: { label: "Tokens per minute", used: "in the last 60 seconds" },
  concurrency: { label: "Concurrent requests", used: "in progress now" },
};

export interface TypedLimit {
  readonly text: string;
  readonly isRemoved: boolean;
}
export type TypedLimits = Readonly<Record<LimitKind, TypedLimit>>;
export type Ceilings = Readonly<Record<LimitKind, number | null>>;

type LimitValues = Pick<LimitBody, LimitKind>;
type ReadLimits =
  | { readonly isReady: true; readonly values: LimitValues }
  | { readonly isReady: false; readonly problems: Readonly<Partial<Record<LimitKind, string>>> };

/** Reads the form. A blank field changes nothing; a limit above its ceiling is a problem. */
export function readLimits(typed: TypedLimits, ceilings: Ceilings): ReadLimits {
  const problems: Partial<Record<LimitKind, string>> = {};
  const values: { -readonly [K in LimitKind]?: number | null } = {};
  for (const kind of LIMIT_KINDS) {
    const { text, isRemoved } = typed[kind];
    if (isRemoved) values[kind] = null;
    else if (text.trim() !== "") {
      const read = readLimit(text.trim(), ceilings[kind]);
      if (typeof read === "string") problems[kind] = read;
      else values[kind] = read;
    }
  }
  return Object.keys(problems).length > 0
    ? { isReady: false, problems }
    : { isReady: true, values };
}

/** Returns the problems that remain after a change. Another key has other ceilings. */
export function stillWrong(
  problems: Problems,
  changed: { readonly model?: string; readonly key_id?: string; readonly limits?: TypedLimits },
): Problems {
  const dropped = new Set(
    Object.keys(changed).flatMap<string>((name) => (name === "model" ? [name] : LIMIT_KINDS)),
  );
  return Object.fromEntries(Object.entries(problems).filter(([name]) => !dropped.has(name)));
}

/** Names the row's scope in a request; undefined if the customer cannot change its limits. */
export function toScope(row: LimitRow): Omit<LimitBody, LimitKind> | undefined {
  const key = row.key_id === null ? {} : { key_id: row.key_id };
  if (row.scope === "org") return { scope: "org" };
  if (row.scope === "key") return { scope: "key", ...key };
  if (row.scope === "endpoint" || row.model === null) return undefined;
  return { scope: "model", model: row.model, ...key };
}

export function pickLimits(row: LimitRow, of: "ceiling" | "own"): Ceilings {
  return { rpm: row.rpm[of], tpm: row.tpm[of], concurrency: row.concurrency[of] };
}

function readLimit(text: string, ceiling: number | null): number | string {
  const value = /^[0-9]{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= (ceiling ?? Number.POSITIVE_INFINITY)) return value;
  return ceiling === null
    ? "Enter a whole number of at least 1."
    : `Enter a whole number from 1 to ${ceiling}. Limits can be lowered, not raised.`;
}

/** Keys without a notable limit or cap are hidden only if there are at least this many of them. */
const QUIET_MIN = 10;
/** Share of a limit from which its use is notable. */
const CLOSE_SHARE = 0.5;

interface Telling<T> {
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
