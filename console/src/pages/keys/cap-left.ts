import type { Limits } from "../../../../src/console-api/contract.ts";
import { compareUsd, parseUsd, writeUsd } from "../../ui/money-math.ts";

export type Cap = Limits["caps"][number];

export interface CapLeft {
  readonly cap: Cap;
  /** What the month still allows: the cap less what is spent and what is in flight. */
  readonly leftUsd: string;
}

/**
 * The caps that a key's requests meet, the one that bites first before the others. The narrower is
 * named where two leave as much, as in a refusal. Empty: nothing caps the key.
 */
export function capsLeft(caps: readonly Cap[], keyId: string): readonly CapLeft[] {
  return caps
    .filter(({ scope, key_id: id }) => scope === "org" || id === keyId)
    .flatMap((cap) => {
      const leftUsd = leftOf(cap);
      return leftUsd === undefined ? [] : [{ cap, leftUsd }];
    })
    .toSorted((a, b) => compareUsd(a.leftUsd, b.leftUsd) || rank(a.cap) - rank(b.cap));
}

/** What a cap still allows, never below zero; undefined where there is no cap. */
export function leftOf(cap: Cap): string | undefined {
  if (cap.cap_usd === null) return undefined;
  const left = parseUsd(cap.cap_usd) - parseUsd(cap.spent_usd) - parseUsd(cap.in_flight_usd);
  return writeUsd(left < 0n ? 0n : left);
}

function rank({ scope }: Cap): number {
  return scope === "key" ? 0 : 1;
}
