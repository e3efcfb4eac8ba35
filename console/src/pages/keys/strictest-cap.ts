import type { Key } from "../../../../src/console-api/contract.ts";
import { compareUsd, parseUsd, shareOf, writeUsd } from "../../ui/money-math.ts";

type Caps = Pick<
  Key,
  | "cap_usd"
  | "spent_month_usd"
  | "cap_week_usd"
  | "spent_week_usd"
  | "cap_day_usd"
  | "spent_day_usd"
>;

export interface StrictestCap {
  readonly name: "monthly" | "weekly" | "daily";
  /** 0 to 1 of it is spent. */
  readonly share: number;
  readonly leftUsd: string;
}

/**
 * The key's own cap that refuses first: it leaves least. Of two that leave as much, the one that
 * resets last, as in a refusal. Undefined: the key has none.
 */
export function strictestCap(key: Caps): StrictestCap | undefined {
  const caps = [
    capOf("monthly", key.cap_usd, key.spent_month_usd),
    capOf("weekly", key.cap_week_usd, key.spent_week_usd),
    capOf("daily", key.cap_day_usd, key.spent_day_usd),
  ];
  const [first] = caps
    .flatMap((cap) => (cap === undefined ? [] : [cap]))
    .toSorted((a, b) => compareUsd(a.leftUsd, b.leftUsd));
  return first;
}

function capOf(
  name: StrictestCap["name"],
  cap: string | null,
  spent: string | null,
): StrictestCap | undefined {
  if (cap === null || spent === null) return undefined;
  const left = parseUsd(cap) - parseUsd(spent);
  const share = parseUsd(cap) === 0n ? 1 : shareOf(spent, cap);
  return { name, share, leftUsd: writeUsd(left < 0n ? 0n : left) };
}
