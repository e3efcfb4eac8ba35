import type { CapPeriod, KeyDetail, Limits } from "../../../../src/account/console-api/contract.ts";
import { compareUsd, parseUsd, writeUsd } from "../../ui/money-math.ts";
import { KEY_CAPS } from "./key-caps.ts";

export type Cap = Limits["caps"][number];

export interface CapLeft {
  readonly of: `key_${CapPeriod}` | "organization";
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
  const { key } = shown;
  const own = caps.find(({ key_id: id }) => id === key.key_id);
  const org = caps.find(({ scope }) => scope === "org");
  const inFlight = own?.in_flight_usd ?? "0.000000";
  // What is in flight may end in any period, so it counts against each of them.
  const wanted = [
    ...KEY_CAPS.map(({ period, field, spent, resetAt }) => ({
      of: `key_${period}` as const,
      cap: key[field],
      spent: key[spent],
      inFlight,
      resetAt: shown[resetAt],
    })),
    {
      of: "organization" as const,
      cap: org?.cap_usd ?? null,
      spent: org?.spent_usd ?? null,
      inFlight: org?.in_flight_usd ?? "0.000000",
      resetAt: shown.cap_reset_at,
    },
  ];
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
