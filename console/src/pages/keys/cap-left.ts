import type { KeyDetail, Limits } from "../../../../src/console-api/contract.ts";
import { compareUsd, parseUsd, writeUsd } from "../../ui/money-math.ts";

export type Cap = Limits["caps"][number];

export interface CapLeft {
  readonly of: "key_month" | "key_week" | "key_day" | "organization";
  readonly capUsd: string;
  /** What its period still allows: the cap less what is spent and what is in flight. */
  readonly leftUsd: string;
  /** Its next period begins. */
  readonly resetAt: string;
}

/** The key, and when its caps begin again. */
type Shown = Omit<KeyDetail, "days">;

/**
 * The caps that a key's requests meet, the one that leaves least before the others. Where two leave as
 * much, the order is that of a refusal: the key's own, the one that resets last first, then the
 * organization's. Empty: nothing caps the key.
 */
export function capsLeft(caps: readonly Cap[], shown: Shown): readonly CapLeft[] {
  const { key, cap_reset_at: ofMonth } = shown;
  const own = caps.find(({ key_id: id }) => id === key.key_id);
  const org = caps.find(({ scope }) => scope === "org");
  const inFlight = own?.in_flight_usd ?? "0.000000";
  // What is in flight may end in any period, so it counts against each of them.
  const wanted = [
    { of: "key_month", cap: key.cap_usd, spent: key.spent_month_usd, inFlight, resetAt: ofMonth },
    {
      of: "key_week",
      cap: key.cap_week_usd,
      spent: key.spent_week_usd,
      inFlight,
      resetAt: shown.week_reset_at,
    },
    {
      of: "key_day",
      cap: key.cap_day_usd,
      spent: key.spent_day_usd,
      inFlight,
      resetAt: shown.day_reset_at,
    },
    {
      of: "organization",
      cap: org?.cap_usd ?? null,
      spent: org?.spent_usd ?? null,
      inFlight: org?.in_flight_usd ?? "0.000000",
      resetAt: ofMonth,
    },
  ] as const;
  return wanted
    .flatMap(({ of, cap, spent, inFlight: held, resetAt }) => {
      if (cap === null || spent === null) return [];
      return [{ of, capUsd: cap, leftUsd: leftUnder(cap, spent, held), resetAt }];
    })
    .toSorted((a, b) => compareUsd(a.leftUsd, b.leftUsd));
}

/** What a cap still allows, never below zero; undefined where there is no cap. */
export function leftOf(cap: Cap): string | undefined {
  if (cap.cap_usd === null) return undefined;
  return leftUnder(cap.cap_usd, cap.spent_usd, cap.in_flight_usd);
}

function leftUnder(cap: string, spent: string, inFlight: string): string {
  const left = parseUsd(cap) - parseUsd(spent) - parseUsd(inFlight);
  return writeUsd(left < 0n ? 0n : left);
}
