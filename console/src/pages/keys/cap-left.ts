import type {
  CapPeriod,
  Key,
  KeyList,
  Limits,
} from "../../../../src/account/console-api/contract.ts";
import { compareUsd, parseUsd, writeUsd } from "../../ui/money-math.ts";
import { KEY_CAPS } from "./key-caps.ts";

export type Cap = Limits["caps"][number];

/** One cap of a key or the organization, or the only row of one that has no cap. */
export interface CapRow extends Pick<Cap, "scope" | "key_id" | "name"> {
  /** The period of the cap; `month` if there is no cap. */
  readonly period: CapPeriod;
  /** Null if the key or organization has no cap. */
  readonly capUsd: string | null;
  readonly spentUsd: string;
  readonly inFlightUsd: string;
  /**
   * What the cap still allows: the cap less the spent amount and the amount in flight, but at least
   * zero. Undefined if there is no cap.
   */
  readonly leftUsd: string | undefined;
  readonly resetAt: string;
}

type Resets = Pick<KeyList, (typeof KEY_CAPS)[number]["resetAt"]>;

/**
 * Lists caps by the amount left, the least first; rows without a cap come last. Caps with equal
 * amounts are in the order in which the gateway refuses: first the caps of keys (of these, the one
 * that resets last comes first), then the organization's cap.
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

/**
 * Makes a row for each cap of a key. The amount in flight counts against every cap, because a
 * request may end in any period.
 */
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
