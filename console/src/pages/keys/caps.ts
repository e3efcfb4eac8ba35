import type { CapField, CapPeriod, Caps, Key, KeyList, Limits } from "../../api/contract.ts";
import { periodEndMs } from "../../../../src/kernel/core/cap-period.ts";
import { bareUsd, compareUsd, parseUsd, computeShare, writeUsd } from "../../ui/money-math.ts";

export const KEY_CAPS = [
  {
    period: "month",
    name: "monthly",
    field: "cap_usd",
    spent: "spent_month_usd",
    resetAt: "cap_reset_at",
    label: "Monthly cap in dollars",
    applies: "Caps apply to the calendar month in UTC.",
  },
  {
    period: "week",
    name: "weekly",
    field: "cap_week_usd",
    spent: "spent_week_usd",
    resetAt: "week_reset_at",
    label: "Weekly cap in dollars",
    applies: "Weeks begin on Monday at 00:00 UTC.",
  },
  {
    period: "day",
    name: "daily",
    field: "cap_day_usd",
    spent: "spent_day_usd",
    resetAt: "day_reset_at",
    label: "Daily cap in dollars",
    applies: "Days begin at 00:00 UTC.",
  },
] as const satisfies readonly {
  readonly period: CapPeriod;
  readonly name: string;
  readonly field: CapField;
  readonly spent: keyof Key;
  readonly resetAt: keyof KeyList;
  readonly label: string;
  readonly applies: string;
}[];

export const CAP_FIELDS: readonly CapField[] = KEY_CAPS.map(({ field }) => field);

export const BLANK_CAPS: Caps<string> = { month: "", week: "", day: "" };

export const PERIOD_NAMES: Readonly<Record<CapPeriod, string>> = {
  month: "Monthly",
  week: "Weekly",
  day: "Daily",
};

/** Routes whose answers show caps of keys, or the number of active keys. */
export const KEY_READERS = [
  "GET /api/console/keys",
  "GET /api/console/keys/:key_id",
  "GET /api/console/limits",
  "GET /api/console/overview",
] as const;

/** The meaning of a typed cap. `problem` is a sentence that the form shows at the field. */
type TypedCap =
  | { readonly kind: "unchanged" }
  | { readonly kind: "removed" }
  | { readonly kind: "capped"; readonly capUsd: string }
  | { readonly kind: "problem"; readonly problem: string };

/** Reads a typed cap: blank changes nothing, 0 removes the cap. */
export function readCap(text: string): TypedCap {
  const typed = bareUsd(text);
  if (typed === "") return { kind: "unchanged" };
  if (typed.startsWith("-")) {
    return { kind: "problem", problem: "A cap cannot be negative. 0 removes it." };
  }
  if (!/^[0-9]+(\.[0-9]+)?$/.test(typed)) {
    return { kind: "problem", problem: "Enter a cap in dollars, such as 25 or 0.50." };
  }
  if (!/^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(typed)) {
    return {
      kind: "problem",
      problem: "Use at most nine digits before the decimal point and six after it.",
    };
  }
  return /^[0.]+$/.test(typed) ? { kind: "removed" } : { kind: "capped", capUsd: typed };
}

/** The cap for the request body of a change. Undefined if the body must not have the field. */
export function capInput(cap: TypedCap): string | undefined {
  if (cap.kind === "removed") return "0";
  return cap.kind === "capped" ? cap.capUsd : undefined;
}

type CapFacts = Pick<Key, (typeof KEY_CAPS)[number]["field" | "spent"]>;

interface StrictestCap {
  readonly name: (typeof KEY_CAPS)[number]["name"];
  /** The spent share, from 0 to 1. */
  readonly share: number;
  readonly leftUsd: string;
}

/** The cap with the least left. If several have the least, the last to reset, as in refusals. */
export function strictestCap(key: CapFacts, nowMs: number): StrictestCap | undefined {
  const [first] = KEY_CAPS.toSorted(
    (a, b) => periodEndMs(b.period, nowMs) - periodEndMs(a.period, nowMs),
  )
    .flatMap(({ name, field, spent: spentField }) => {
      const cap = key[field];
      const spent = key[spentField];
      if (cap === null || spent === null) return [];
      const share = parseUsd(cap) === 0n ? 1 : computeShare(spent, cap);
      return [{ name, share, leftUsd: leftUnder(cap, spent, "0") }];
    })
    .toSorted((a, b) => compareUsd(a.leftUsd, b.leftUsd));
  return first;
}

export type Cap = Limits["caps"][number];

/** One cap of a key or the organization. A key or organization without a cap also has one row. */
export interface CapRow extends Pick<Cap, "scope" | "key_id" | "name"> {
  /** The period of the cap; `month` if there is no cap. */
  readonly period: CapPeriod;
  /** Null if the key or organization has no cap. */
  readonly capUsd: string | null;
  readonly spentUsd: string;
  readonly inFlightUsd: string;
  /** The cap minus the spent amount and the amount in flight, at least 0; undefined without cap. */
  readonly leftUsd: string | undefined;
  readonly resetAt: string;
}

type Resets = Pick<KeyList, (typeof KEY_CAPS)[number]["resetAt"]>;

/**
 * Lists caps by the amount left, the least first; rows without a cap come last. Caps with equal
 * amounts are in the gateway's order of refusal: the caps of keys, the last to reset first, then
 * the cap of the organization.
 */
export function capRows(
  caps: readonly Cap[],
  { keys, ...resets }: Resets & { readonly keys: readonly Key[] },
): readonly CapRow[] {
  const ofKeys = caps.filter(({ scope }) => scope === "key");
  const ofOrg = caps.filter(({ scope }) => scope === "org");
  return [
    ...ofKeys.flatMap((cap) =>
      rowsOfKey(
        cap,
        keys.find(({ key_id: id }) => id === cap.key_id),
        resets,
      ),
    ),
    ...ofOrg.map((cap) =>
      toRow(cap, { period: "month", capUsd: cap.cap_usd, resetAt: resets.cap_reset_at }),
    ),
  ].toSorted(compareLeft);
}

/** The amount in flight counts against every cap, because a request may end in any period. */
function rowsOfKey(cap: Cap, key: Key | undefined, resets: Resets): readonly CapRow[] {
  const own = KEY_CAPS.flatMap(({ period, field, spent, resetAt }) => {
    const capUsd = key?.[field] ?? null;
    if (key === undefined || capUsd === null) return [];
    const spentUsd = key[spent] ?? "0.000000";
    return [toRow({ ...cap, spent_usd: spentUsd }, { period, capUsd, resetAt: resets[resetAt] })];
  });
  if (own.length > 0) return own.toSorted((a, b) => Date.parse(b.resetAt) - Date.parse(a.resetAt));
  return [toRow(cap, { period: "month", capUsd: cap.cap_usd, resetAt: resets.cap_reset_at })];
}

function toRow(
  { scope, key_id, name, spent_usd: spentUsd, in_flight_usd: inFlightUsd }: Cap,
  of: Pick<CapRow, "period" | "capUsd" | "resetAt">,
): CapRow {
  const leftUsd = of.capUsd === null ? undefined : leftUnder(of.capUsd, spentUsd, inFlightUsd);
  return { scope, key_id, name, spentUsd, inFlightUsd, leftUsd, ...of };
}

function compareLeft({ leftUsd: a }: CapRow, { leftUsd: b }: CapRow): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compareUsd(a, b);
}

function leftUnder(cap: string, spent: string, inFlight: string): string {
  const left = parseUsd(cap) - parseUsd(spent) - parseUsd(inFlight);
  return writeUsd(left < 0n ? 0n : left);
}
