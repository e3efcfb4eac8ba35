import { periodEndMs } from "../../../../src/kernel/core/cap-period.ts";
import type { Key } from "../../../../src/account/console-api/contract.ts";
import { compareUsd, parseUsd, computeShare, writeUsd } from "../../ui/money-math.ts";
import { KEY_CAPS } from "./key-caps.ts";

type Caps = Pick<Key, (typeof KEY_CAPS)[number]["field" | "spent"]>;

export interface StrictestCap {
  readonly name: (typeof KEY_CAPS)[number]["name"];
  /** The spent share, from 0 to 1. */
  readonly share: number;
  readonly leftUsd: string;
}

/**
 * The cap of a key with the least amount left, which refuses first; of equal ones the cap that resets
 * last, as in refusals. Undefined if the key has no cap.
 */
export function strictestCap(key: Caps, nowMs: number): StrictestCap | undefined {
  const [first] = KEY_CAPS.toSorted(
    (a, b) => periodEndMs(b.period, nowMs) - periodEndMs(a.period, nowMs),
  )
    .flatMap(({ name, field, spent }) => toStrictestCap(name, key[field], key[spent]) ?? [])
    .toSorted((a, b) => compareUsd(a.leftUsd, b.leftUsd));
  return first;
}

function toStrictestCap(
  name: StrictestCap["name"],
  cap: string | null,
  spent: string | null,
): StrictestCap | undefined {
  if (cap === null || spent === null) return undefined;
  const left = parseUsd(cap) - parseUsd(spent);
  const share = parseUsd(cap) === 0n ? 1 : computeShare(spent, cap);
  return { name, share, leftUsd: writeUsd(left < 0n ? 0n : left) };
}
