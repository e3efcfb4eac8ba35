import type { Key } from "../../../../src/account/console-api/contract.ts";
import { compareUsd, parseUsd, shareOf, writeUsd } from "../../ui/money-math.ts";
import { KEY_CAPS } from "./key-caps.ts";

type Caps = Pick<Key, (typeof KEY_CAPS)[number]["field" | "spent"]>;

export interface StrictestCap {
  readonly name: (typeof KEY_CAPS)[number]["name"];
  /** 0 to 1 of it is spent. */
  readonly share: number;
  readonly leftUsd: string;
}

/**
 * The key's own cap that refuses first: it leaves least. Of two that leave as much, the one that
 * resets last, as in a refusal. Undefined: the key has none.
 */
export function strictestCap(key: Caps): StrictestCap | undefined {
  const caps = KEY_CAPS.map(({ name, field, spent }) => capOf(name, key[field], key[spent]));
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
